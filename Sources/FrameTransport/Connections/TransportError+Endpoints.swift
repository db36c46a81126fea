// Why nobody can listen at a path or port, or reach a server there: what is known of the system's error, and what helps.

extension TransportError {
    /// A server does not start, because of a file or directory of its path.
    static func unsafePath(_ path: SocketPath, _ problem: String, remedy: String) -> TransportError {
        TransportError(.unsafePath, path: path.text, problem, remedy: remedy)
    }

    /// A live server listens at a path.
    static func inUse(_ path: SocketPath) -> TransportError {
        let problem = "another server listens here"
        return TransportError(.addressInUse, path: path.text, problem, remedy: "stop it, or choose another path")
    }

    /// A server holds the lock of a path, and nobody can connect.
    static func held(_ path: SocketPath) -> TransportError {
        let lock = path.text + ".lock"
        return TransportError(
            .addressInUse,
            path: path.text,
            "a server that has just started, or whose socket's file was removed, holds \(lock)",
            remedy: "try again in a second, or end the process that this names: fuser -v \(lock.shellWord)"
        )
    }

    /// The system did not let a server listen.
    static func cannotListen(at endpoint: SocketEndpoint, _ error: Errno) -> TransportError {
        var code = Code.cannotCreate
        var problem = "cannot create the socket"
        var remedy: String?
        if case .loopback(let port) = endpoint, error == .addressInUse {
            code = .addressInUse
            problem = "another program listens at this port"
            remedy = "choose another port, or end the program that this names: ss -tlnp 'sport = :\(port)'"
        } else if case .loopback = endpoint, error == .accessDenied {
            problem = "you (user \(Syscalls.effectiveUserID)) may not listen at this port"
            remedy = "choose a port from 1024 on"
        }
        let path = endpoint.description
        return TransportError(code, path: path, underlyingErrno: error.rawValue, problem, remedy: remedy)
    }

    /// The system did not let a server use a path, whose directory is nil if it cannot be opened.
    static func cannotListen(at path: SocketPath, _ error: Errno, in directory: Syscalls.Entry?) -> TransportError {
        let name = path.directory
        let user = Syscalls.effectiveUserID
        var problem = "the file system of \(name) "
        let remedy: String
        switch (error, directory) {
        case (.addressInUse, _): return inUse(path)
        // No directory, or one that was removed since.
        case (.noEntry, _) where directory?.links ?? 0 == 0:
            problem = "the directory \(name) does not exist"
            remedy = "create it: mkdir -p -m 700 -- \(name.shellWord)"
        case (.notDirectory, _):
            problem = "a component of \(name) is not a directory"
            remedy = "choose a path in an existing directory"
        case (.accessDenied, let directory?):
            problem =
                "you (user \(user)) may not find or create files in \(name), which belongs to user \(directory.owner) "
                + "and has mode \(directory.octalMode)"
            remedy =
                directory.owner == user
                ? "run: chmod u+wx -- \(name.shellWord)"
                : "choose a directory that you can write to, or let a service manager listen"
        case (.accessDenied, nil):
            problem = "you (user \(user)) may not reach the directory \(name)"
            remedy = "choose a directory owned by you"
        // A directory whose files only the system creates, such as /proc, has no entry for new ones.
        case (.notSupported, _), (.noSystemCall, _), (.inputOutput, _), (.noEntry, _), (.notPermitted, _):
            problem += "creates no sockets" + (error == .notPermitted ? ", or none for you (user \(user))" : "")
            remedy =
                "choose a directory on another file system, such as /run, /tmp or a named volume; mounts of FUSE, FAT and network "
                + "shares, and of Windows and macOS folders in WSL and Docker, have none"
        case (.readOnlyFileSystem, _):
            problem += "is mounted read-only"
            remedy = "choose another directory, or mount it with write access (in Docker: without :ro)"
        case (.noSpace, _):
            problem += "has no space or no inodes left"
            remedy = "remove files; to see which it is: df -h and df -i"
        case (.overQuota, _):
            problem = "your quota on the file system of \(name) is used up"
            remedy = "remove files; to see it: quota -s"
        case (.busy, _):
            problem = "a socket at which nobody listens is mounted here, and cannot be replaced"
            remedy = "mount the directory of the socket in its place, so that both sides see a new server's socket"
        default:
            problem = directory == nil ? "the directory \(name) cannot be opened" : "cannot create the socket"
            remedy = "choose another path"
        }
        return TransportError(
            .cannotCreate,
            path: path.text,
            underlyingErrno: error.rawValue,
            problem,
            remedy: remedy
        )
    }

    /// No server was reached in a time, zero for one attempt; the last one failed with `error`, if that is known.
    static func noServer(at endpoint: String, within limit: Duration, _ error: Errno?) -> TransportError {
        let problem: String?
        let remedy: String
        switch error {
        case .noEntry?:
            problem = "nothing exists at this path"
            remedy = "start the receiver, or check the path"
        case .refused?:
            problem = "nobody listens here, since the receiver has ended or has not started yet"
            remedy = "start it; a socket that was left behind is replaced"
        case .notDirectory?:
            problem = "a component of the path is not a directory"
            remedy = "check the path"
        case .accessDenied?, .notPermitted?:
            problem = "you may not connect to the socket, or not reach its directory"
            remedy = "run both ends as the same user; to see whose the socket is: ls -l \(endpoint.shellWord)"
        case .wrongType?:
            problem = "the socket is of type datagram or packet, and frames need a stream socket"
            remedy = "choose another path"
        case .again?:
            problem = "somebody listens, but the queue of connections is full"
            remedy = "end the process that this names, if it does not continue: ss -xlp src \(endpoint.shellWord)"
        default:
            problem = nil
            remedy = "check that one is running here, for the same user"
        }
        let summary = "no server was reached" + (limit == .zero ? "" : " within \(limit)")
        return TransportError(
            .openTimedOut,
            path: endpoint,
            underlyingErrno: error?.rawValue,
            problem.map { "\(summary): \($0)" } ?? summary,
            remedy: remedy
        )
    }
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
