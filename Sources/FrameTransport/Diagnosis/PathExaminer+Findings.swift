/// The text of every finding, and the remedy.
extension PathExaminer {
    // MARK: The path

    static func invalid(_ error: TransportError) -> PathFinding {
        PathFinding(
            .invalidPath,
            .failure,
            error.message,
            mend: "give the path of a file in a directory, such as /run/user/\(Syscalls.effectiveUserID)/rtc_SSFD"
        )
    }

    static func tooLong(_ text: String) -> PathFinding {
        let limit = SocketPath.maximumBytes
        var values = ["bytes": text.utf8.count, "limit": limit]
        var mend = "choose a path of at most \(limit) bytes"
        #if os(Linux)
            let name = text.utf8.lastIndex(of: UInt8(ascii: "/")).map { text.utf8[$0...].count - 1 } ?? text.utf8.count
            values["nameBytes"] = name
            values["nameLimit"] = SocketPath.maximumNameBytes
            mend +=
                ", or a last part of at most \(SocketPath.maximumNameBytes), before which Linux takes more by the "
                + "descriptor of the directory"
        #endif
        return PathFinding(
            .pathTooLong,
            .failure,
            "the path has \(text.utf8.count) bytes, and a socket's may have \(limit)",
            mend: mend,
            values: values
        )
    }

    static func longPath(_ text: String) -> PathFinding {
        let limit = SocketPath.maximumBytes
        return PathFinding(
            .longPath,
            .note,
            "the path has \(text.utf8.count) bytes, more than the \(limit) of a socket's address; it is reached by the "
                + "descriptor of its directory, which programs that do not know of that cannot",
            values: ["bytes": text.utf8.count, "limit": limit]
        )
    }

    static func free(_ path: SocketPath) -> PathFinding {
        PathFinding(.freePath, .note, "nothing stands at the path: a server may listen here, and senders wait for one")
    }

    static func notASocket(_ path: SocketPath, _ entry: Syscalls.Entry) -> PathFinding {
        let what =
            switch entry.kind {
            case .link: "a symbolic link"
            case .directory: "a directory"
            case .file: "a plain file"
            default: "a pipe or a device"
            }
        return PathFinding(
            entry.kind == .link ? .symbolicLink : .notASocket,
            .failure,
            "\(what) stands at the path, which a server leaves alone",
            mend: "choose another path, or move it away: mv -- \(quoted(path.text)) \(quoted(path.text + ".old"))"
        )
    }

    static func unusableLock(_ path: SocketPath, _ entry: Syscalls.Entry) -> PathFinding {
        let lock = quoted(path.text + ".lock")
        return PathFinding(
            .unusableLock,
            .failure,
            "what stands at \(path.text).lock is no plain file of this user's with one name, and a server needs one there",
            mend: "move it away: mv -- \(lock) \(quoted(path.text + ".lock.old"))",
            values: ["uid": Int(entry.owner)]
        )
    }

    static func heldLock(_ path: SocketPath) -> PathFinding {
        PathFinding(
            .heldLock,
            .failure,
            "a server holds \(path.text).lock, but nobody can connect: its socket's file was removed, or it has just started",
            mend: "restart that server; to find it: fuser -v \(quoted(path.text + ".lock"))"
        )
    }

    // MARK: The directory

    static func unusableDirectory(_ path: SocketPath, _ error: Errno) -> PathFinding {
        let directory = path.directory
        switch error {
        case .noEntry:
            return PathFinding(
                .missingDirectory,
                .failure,
                "the directory \(directory) does not exist",
                mend: "mkdir -p -m 700 -- \(quoted(directory))"
            )
        case .notDirectory:
            return PathFinding(
                .notADirectory,
                .failure,
                "a part of \(directory) is no directory",
                mend: "choose a path in a directory"
            )
        default:
            return PathFinding(
                .closedDirectory,
                .failure,
                "the directory \(directory) cannot be opened (\(error))",
                mend: "choose a directory of this user's (\(Syscalls.effectiveUserID))",
                values: ["errno": Int(error.rawValue)]
            )
        }
    }

    static func foreignDirectory(_ path: SocketPath, _ entry: Syscalls.Entry) -> PathFinding {
        PathFinding(
            .foreignDirectory,
            .failure,
            "the directory \(path.directory) belongs to user \(entry.owner), who could replace the socket",
            mend: "choose a directory of this user's (\(Syscalls.effectiveUserID)) or root's",
            values: ["uid": Int(entry.owner)]
        )
    }

    static func openDirectory(_ path: SocketPath, _ entry: Syscalls.Entry) -> PathFinding {
        PathFinding(
            .openDirectory,
            .failure,
            "the directory \(path.directory) has mode \(octal(entry.mode)), by which others could replace the socket",
            mend: "chmod go-w -- \(quoted(path.directory))",
            values: ["mode": Int(entry.mode), "uid": Int(entry.owner)]
        )
    }

    static func readOnlyDirectory(
        _ path: SocketPath,
        _ entry: Syscalls.Entry,
        _ error: Errno,
        isServed: Bool
    ) -> PathFinding {
        PathFinding(
            .readOnlyDirectory,
            isServed ? .note : .failure,
            "this user (\(Syscalls.effectiveUserID)) may make nothing in \(path.directory), which belongs to user "
                + "\(entry.owner) and has mode \(octal(entry.mode)) (\(error))",
            mend: isServed ? nil : "choose a directory that this user may write to, or have a service manager listen",
            values: ["mode": Int(entry.mode), "uid": Int(entry.owner)]
        )
    }

    // MARK: The socket and its server

    static func deadSocket(_ path: SocketPath, _ entry: Syscalls.Entry?) -> PathFinding {
        if let entry, entry.owner != Syscalls.effectiveUserID {
            return PathFinding(
                .foreignSocket,
                .failure,
                "nobody listens at the socket, which belongs to user \(entry.owner), so that a server may not replace it",
                mend: "choose a path in a directory of this user's alone",
                values: ["uid": Int(entry.owner)]
            )
        }
        return PathFinding(
            .deadSocket,
            .warning,
            "nobody listens at the socket: a server left it behind, or has not begun to listen",
            mend: "start the server, which takes its place; or remove it: rm -- \(quoted(path.text))"
        )
    }

    static func closedSocket(_ path: SocketPath, _ entry: Syscalls.Entry?, _ error: Errno) -> PathFinding {
        let facts = entry.map { ", which belongs to user \($0.owner) and has mode \(octal($0.mode))" } ?? ""
        return PathFinding(
            .closedSocket,
            .failure,
            "this user (\(Syscalls.effectiveUserID)) may not connect to the socket\(facts) (\(error))",
            mend: "run both ends as one user",
            values: entry.map { ["mode": Int($0.mode), "uid": Int($0.owner)] } ?? [:]
        )
    }

    static func wrongType(_ path: SocketPath) -> PathFinding {
        PathFinding(
            .wrongType,
            .failure,
            "the socket is for datagrams or packets, and frames need a stream",
            mend: "choose another path"
        )
    }

    static func liveServer(_ path: SocketPath, _ peer: PeerCredentials) -> PathFinding {
        PathFinding(
            .liveServer,
            .note,
            "process \(peer.processID) of user \(peer.userID) listens and takes connections",
            values: values(of: peer)
        )
    }

    static func turningServer(_ path: SocketPath, _ peer: PeerCredentials) -> PathFinding {
        PathFinding(
            .turningServer,
            .failure,
            "process \(peer.processID) of user \(peer.userID) listens, and closes a new connection before it reads anything: it has"
                + " no free place, or does not accept this user (\(Syscalls.effectiveUserID))",
            mend: "wait until a sender has left, or run both ends as one user",
            values: values(of: peer)
        )
    }

    static func silentServer(_ path: SocketPath, _ peer: PeerCredentials?, _ patience: Duration) -> PathFinding {
        guard let peer else {
            return PathFinding(
                .silentServer,
                .failure,
                "somebody listens, whose queue of connections has been full for \(patience)",
                mend: "look at who it is: ss -xlp src \(quoted(path.text))"
            )
        }
        return PathFinding(
            .silentServer,
            .failure,
            "process \(peer.processID) of user \(peer.userID) listens, and has not taken a connection within \(patience)",
            mend: "see whether it is stopped or busy: ps -o pid,stat,wchan,args -p \(peer.processID)",
            values: values(of: peer)
        )
    }

    static func refusedPeer(_ path: SocketPath, _ peer: PeerCredentials?) -> PathFinding {
        guard let peer else {
            return PathFinding(
                .refusedPeer,
                .failure,
                "somebody listens, of whom the system does not say who it is",
                mend: "choose another path"
            )
        }
        return PathFinding(
            .refusedPeer,
            .failure,
            "process \(peer.processID) of user \(peer.userID) listens, with whom this user "
                + "(\(Syscalls.effectiveUserID)) does not deal",
            mend: "run both ends as one user, or name user \(peer.userID) in the peer policy",
            values: values(of: peer)
        )
    }

    private static func values(of peer: PeerCredentials) -> [String: Int] {
        ["pid": Int(peer.processID), "uid": Int(peer.userID)]
    }

    // MARK: The system

    static func descriptors(_ use: Syscalls.DescriptorUse, of process: Int32?, wanted: Int?) -> PathFinding {
        let whose = process.map { "process \($0)" } ?? "this process"
        var values = ["open": use.open, "limit": use.limit]
        if let process { values["pid"] = Int(process) }
        let message = "\(whose) has \(use.open) descriptors open and may have \(use.limit)"
        guard let wanted else { return PathFinding(.descriptors, .note, message, values: values) }
        return PathFinding(
            .fewDescriptors,
            .warning,
            message + "; a server takes \(wanted) senders",
            mend: "ulimit -n 1024 before it starts, or LimitNOFILE=1024 in its unit",
            values: values
        )
    }

    static func system(_ error: Errno, _ message: String) -> PathFinding {
        PathFinding(
            .system,
            .failure,
            "\(message) (\(error))",
            mend: "look at the system's own words, and at its log",
            values: ["errno": Int(error.rawValue)]
        )
    }

    // MARK: Formatting

    private static func octal(_ mode: UInt32) -> String { String(mode, radix: 8) }

    /// Returns a path quoted for a shell.
    private static func quoted(_ path: String) -> String {
        let isPlain = path.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
                true
            default: "/._-+:,@%".utf8.contains(byte)
            }
        }
        guard !isPlain else { return path }
        return "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
