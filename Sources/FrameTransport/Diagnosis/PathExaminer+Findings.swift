/// The text of every finding, and the remedy.
extension PathExaminer {
    // MARK: The path

    static func invalid(_ error: TransportError) -> PathDiagnosis.Finding {
        PathDiagnosis.Finding(
            .invalidPath,
            .failure,
            error.message,
            remedy: "use the path of a file in a directory, such as /run/user/\(Syscalls.effectiveUserID)/rtc_SSFD"
        )
    }

    static func tooLong(_ text: String) -> PathDiagnosis.Finding {
        let limit = SocketPath.maximumBytes
        var values = ["bytes": text.utf8.count, "limit": limit]
        var remedy = "choose a path of at most \(limit) bytes"
        #if os(Linux)
            let name = text.utf8.lastIndex(of: UInt8(ascii: "/")).map { text.utf8[$0...].count - 1 } ?? text.utf8.count
            values["nameBytes"] = name
            values["nameLimit"] = SocketPath.maximumNameBytes
            remedy +=
                ", or a last component of at most \(SocketPath.maximumNameBytes), with which Linux allows longer paths "
                + "through the directory's descriptor"
        #endif
        return PathDiagnosis.Finding(
            .pathTooLong,
            .failure,
            "the path has \(text.utf8.count) bytes; a socket's path may have at most \(limit)",
            remedy: remedy,
            values: values
        )
    }

    static func longPath(_ text: String) -> PathDiagnosis.Finding {
        let limit = SocketPath.maximumBytes
        return PathDiagnosis.Finding(
            .longPath,
            .note,
            "the path has \(text.utf8.count) bytes, more than the \(limit) of a socket's address; only programs "
                + "that go through the descriptor of its directory, as this one does, can reach it",
            values: ["bytes": text.utf8.count, "limit": limit]
        )
    }

    /// Nothing exists at the path; `isUsable` tells whether a server can listen there, as far as is known.
    static func free(isUsable: Bool = true) -> PathDiagnosis.Finding {
        PathDiagnosis.Finding(
            .freePath,
            .note,
            isUsable
                ? "nothing exists at the path: a server can listen here, and senders wait for one"
                : "nothing exists at the path: senders wait for a server"
        )
    }

    static func notASocket(_ path: SocketPath, _ entry: Syscalls.Entry) -> PathDiagnosis.Finding {
        let what =
            switch entry.kind {
            case .link: "a symbolic link"
            case .directory: "a directory"
            case .file: "a regular file"
            case .device: "a device"
            case .other, .socket: "a pipe"
            }
        return PathDiagnosis.Finding(
            entry.kind == .link ? .symbolicLink : .notASocket,
            .failure,
            "the path is \(what), which a server does not replace",
            // Other programs need a device where it is.
            remedy: entry.kind == .device ? "choose another path" : remedy(forOccupied: path)
        )
    }

    private static func remedy(forOccupied path: SocketPath) -> String {
        var text = path.text
        while text.hasSuffix("/") { text.removeLast() }
        // Neither the root nor the current directory can be moved.
        guard let name = text.split(separator: "/").last, name != ".", name != ".." else {
            return "choose a path in it, such as \((text + "/rtc_SSFD").shellWord)"
        }
        return "choose another path, or move it out of the way: mv -- \(text.shellWord) \((text + ".old").shellWord)"
    }

    static func unusableLock(_ path: SocketPath, _ entry: Syscalls.Entry) -> PathDiagnosis.Finding {
        let lock = (path.text + ".lock").shellWord
        return PathDiagnosis.Finding(
            .unusableLock,
            .failure,
            "\(path.text).lock, which a server locks, is not an empty, singly linked file owned by you",
            remedy: "move it out of the way: mv -- \(lock) \((path.text + ".lock.old").shellWord)",
            values: ["uid": Int(entry.owner)]
        )
    }

    static func heldLock(_ path: SocketPath) -> PathDiagnosis.Finding {
        PathDiagnosis.Finding(
            .heldLock,
            .failure,
            "a server holds \(path.text).lock, but nobody can connect: its socket was removed, or it has just started",
            remedy: "try again in a second, or restart that server: fuser -v \((path.text + ".lock").shellWord)"
        )
    }

    // MARK: The directory

    static func unusableDirectory(_ path: SocketPath, _ error: Errno) -> PathDiagnosis.Finding {
        let directory = path.directory
        switch error {
        case .noEntry:
            return PathDiagnosis.Finding(
                .missingDirectory,
                .failure,
                "the directory \(directory) does not exist",
                remedy: "mkdir -p -m 700 -- \(directory.shellWord)"
            )
        case .notDirectory:
            return PathDiagnosis.Finding(
                .notADirectory,
                .failure,
                "a component of \(directory) is not a directory",
                remedy: "choose a path in an existing directory"
            )
        default:
            return PathDiagnosis.Finding(
                .inaccessibleDirectory,
                .failure,
                "the directory \(directory) cannot be opened (\(error))",
                remedy: "choose a directory owned by you (user \(Syscalls.effectiveUserID))",
                values: ["errno": Int(error.rawValue)]
            )
        }
    }

    static func inaccessibleDirectory(
        _ path: SocketPath,
        _ entry: Syscalls.Entry,
        _ error: Errno
    ) -> PathDiagnosis.Finding {
        let user = Syscalls.effectiveUserID
        return PathDiagnosis.Finding(
            .inaccessibleDirectory,
            .failure,
            "you (user \(user)) cannot access files in \(path.directory), which belongs to user \(entry.owner) and has "
                + "mode \(octal(entry.mode)) (\(error))",
            remedy: entry.owner == user
                ? "chmod u+wx -- \(path.directory.shellWord)" : "choose a directory owned by you (user \(user))",
            values: ["mode": Int(entry.mode), "uid": Int(entry.owner)]
        )
    }

    static func foreignDirectory(_ path: SocketPath, _ entry: Syscalls.Entry) -> PathDiagnosis.Finding {
        PathDiagnosis.Finding(
            .foreignDirectory,
            .failure,
            "the directory \(path.directory) belongs to user \(entry.owner), who could replace the socket",
            remedy: "choose a directory owned by you (user \(Syscalls.effectiveUserID)) or by root",
            values: ["uid": Int(entry.owner)]
        )
    }

    static func openDirectory(_ path: SocketPath, _ entry: Syscalls.Entry) -> PathDiagnosis.Finding {
        PathDiagnosis.Finding(
            .openDirectory,
            .failure,
            "the directory \(path.directory) has mode \(octal(entry.mode)), which lets others replace the socket",
            remedy: "chmod go-w -- \(path.directory.shellWord)",
            values: ["mode": Int(entry.mode), "uid": Int(entry.owner)]
        )
    }

    static func readOnlyDirectory(
        _ path: SocketPath,
        _ entry: Syscalls.Entry,
        _ error: Errno,
        isServed: Bool
    ) -> PathDiagnosis.Finding {
        PathDiagnosis.Finding(
            .readOnlyDirectory,
            isServed ? .note : .failure,
            "you (user \(Syscalls.effectiveUserID)) cannot create files in \(path.directory), which belongs to user "
                + "\(entry.owner) and has mode \(octal(entry.mode)) (\(error))",
            remedy: isServed ? nil : "choose a directory that you can write to, or let a service manager listen",
            values: ["mode": Int(entry.mode), "uid": Int(entry.owner)]
        )
    }

    // MARK: The socket and its server

    static func deadSocket(_ path: SocketPath, _ entry: Syscalls.Entry?, isMount: Bool) -> PathDiagnosis.Finding {
        if let entry, entry.owner != Syscalls.effectiveUserID {
            return PathDiagnosis.Finding(
                .foreignSocket,
                .failure,
                "nobody listens at the socket, and a server cannot replace it because it belongs to user "
                    + "\(entry.owner)",
                remedy: "choose a path in a directory that only you can write to",
                values: ["uid": Int(entry.owner)]
            )
        }
        if isMount, let obstacle = PathObstacle(.busy, in: path.directory) {
            return PathDiagnosis.Finding(.mountedSocket, .failure, obstacle.message, remedy: obstacle.remedy)
        }
        return PathDiagnosis.Finding(
            .deadSocket,
            .warning,
            "nobody listens at the socket: a server left it behind, or has not started listening",
            remedy: "start the server, which replaces the socket, or remove it: rm -- \(path.text.shellWord)"
        )
    }

    static func inaccessibleSocket(_ entry: Syscalls.Entry?, _ error: Errno) -> PathDiagnosis.Finding {
        let facts = entry.map { ", which belongs to user \($0.owner) and has mode \(octal($0.mode))" } ?? ""
        return PathDiagnosis.Finding(
            .inaccessibleSocket,
            .failure,
            "you (user \(Syscalls.effectiveUserID)) cannot connect to the socket\(facts) (\(error))",
            remedy: "run both ends as the same user",
            values: entry.map { ["mode": Int($0.mode), "uid": Int($0.owner)] } ?? [:]
        )
    }

    static func wrongType() -> PathDiagnosis.Finding {
        PathDiagnosis.Finding(
            .wrongType,
            .failure,
            "the socket is of type datagram or packet; frames need a stream socket",
            remedy: "choose another path"
        )
    }

    static func liveServer(_ peer: PeerPolicy.Credentials) -> PathDiagnosis.Finding {
        PathDiagnosis.Finding(
            .liveServer,
            .note,
            "process \(peer.processID) of user \(peer.userID) listens and accepts connections",
            values: values(of: peer)
        )
    }

    static func fullServer(_ peer: PeerPolicy.Credentials) -> PathDiagnosis.Finding {
        PathDiagnosis.Finding(
            .fullServer,
            .failure,
            "process \(peer.processID) of user \(peer.userID) listens, but closes a new connection before reading "
                + "anything: it has no free slot, or does not admit you (user \(Syscalls.effectiveUserID))",
            remedy: "wait until a sender has left, or run both ends as the same user",
            values: values(of: peer)
        )
    }

    static func silentServer(_ path: SocketPath, _ peer: PeerPolicy.Credentials?, _ patience: Duration)
        -> PathDiagnosis.Finding
    {
        guard let peer else {
            return PathDiagnosis.Finding(
                .silentServer,
                .failure,
                "somebody listens, but the queue of connections has been full for \(patience)",
                remedy: "find out who it is: ss -xlp src \(path.text.shellWord)"
            )
        }
        return PathDiagnosis.Finding(
            .silentServer,
            .failure,
            "process \(peer.processID) of user \(peer.userID) listens, but within \(patience) it has either not accepted "
                + "a connection, or not closed it after this side did",
            remedy: "check whether it is stopped or busy: ps -o pid,stat,wchan,args -p \(peer.processID)",
            values: values(of: peer)
        )
    }

    static func refusedPeer(_ path: SocketPath, _ peer: PeerPolicy.Credentials?) -> PathDiagnosis.Finding {
        guard let peer else {
            return PathDiagnosis.Finding(
                .refusedPeer,
                .failure,
                "somebody listens, but the system does not report who",
                remedy: "choose another path"
            )
        }
        return PathDiagnosis.Finding(
            .refusedPeer,
            .failure,
            "process \(peer.processID) of user \(peer.userID) listens; by default only "
                + "your own user (\(Syscalls.effectiveUserID)) and root are trusted",
            remedy: "run both ends as the same user, or name user \(peer.userID) in the peer policy",
            values: values(of: peer)
        )
    }

    private static func values(of peer: PeerPolicy.Credentials) -> [String: Int] {
        ["pid": Int(peer.processID), "uid": Int(peer.userID)]
    }

    // MARK: The system

    static func descriptors(_ use: Syscalls.DescriptorUse, of process: Int32?, wanted: Int?) -> PathDiagnosis.Finding {
        let whose = process.map { "process \($0)" } ?? "this process"
        var values = ["open": use.open, "limit": use.limit]
        if let process { values["pid"] = Int(process) }
        let message = "\(whose) has \(use.open) of at most \(use.limit) descriptors open"
        guard let wanted else { return PathDiagnosis.Finding(.descriptors, .note, message, values: values) }
        return PathDiagnosis.Finding(
            .fewDescriptors,
            .warning,
            message + "; a server admits \(wanted) senders",
            remedy: "raise the limit: ulimit -n 1024 before it starts, or LimitNOFILE=1024 in its unit",
            values: values
        )
    }

    static func system(_ error: Errno, _ message: String) -> PathDiagnosis.Finding {
        PathDiagnosis.Finding(
            .system,
            .failure,
            "\(message) (\(error))",
            remedy: "check the system's error message and its log",
            values: ["errno": Int(error.rawValue)]
        )
    }

    // MARK: Formatting

    private static func octal(_ mode: UInt32) -> String { String(mode, radix: 8) }
}

extension String {
    /// The text as one word of a shell's command, quoted if it has to be.
    package var shellWord: String {
        let isPlain = utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
                true
            default: "/._-+:,@%".utf8.contains(byte)
            }
        }
        guard !isPlain else { return self }
        if utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            // Nobody can see or type these; in POSIX shells since 2024, and in all that are in use but dash.
            return "$'" + unicodeScalars.map(Self.escaped).joined() + "'"
        }
        return "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "'": return "\\'"
        case "\\": return "\\\\"
        case "\n": return "\\n"
        case "\t": return "\\t"
        default:
            guard scalar.value < 0x20 || scalar.value == 0x7F else { return String(scalar) }
            let digits = String(scalar.value, radix: 8)
            return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
        }
    }
}
