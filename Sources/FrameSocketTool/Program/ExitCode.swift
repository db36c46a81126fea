import FrameSocket

/// The program's exit codes, numbered as in sysexits.h.
enum ExitCode: Int32 {
    case done = 0
    /// Invalid usage.
    case usage = 64
    /// Invalid input data.
    case badData = 65
    /// An input file does not exist or cannot be read.
    case noInput = 66
    /// Nobody listens at the path, somebody else does, the server refuses, or the connection broke.
    case unavailable = 69
    /// Too few descriptors or threads, or too little memory.
    case systemError = 71
    /// A file or socket cannot be created or written.
    case cannotCreate = 73
    /// A timeout expired.
    case timedOut = 75
    /// Interrupted by Ctrl-C.
    case interrupted = 130
}

extension ExitCode {
    /// The exit code of a program that could not listen or connect.
    init(_ error: TransportError) {
        self =
            switch error.code {
            case .tokenRequired, .invalidToken: .usage
            // The system call that failed was one to create a socket.
            case .pathTooLong, .invalidPath, .notASocket, .unsafePath, .unfitSocket, .cannotCreate, .system:
                .cannotCreate
            case .noMemory: .systemError
            case .sendTimedOut: .timedOut
            default: .unavailable
            }
    }
}

extension ExitCode {
    /// The exit code of a program that could not read, scale, encode or decode an image.
    init(_ error: TurboJPEGError) {
        self = error.code == .allocationFailed ? .systemError : .badData
    }
}

/// Why a command ends before its work is done.
struct CommandFailure: Error {
    let code: ExitCode
    /// What there is to say; empty for nothing.
    let message: String
    /// What the program exits with: the code, unless a signal decides.
    var status: ExitCode
    /// The system's error, if one of its calls has failed.
    private(set) var systemError: Int32?

    init(_ code: ExitCode, _ message: String) {
        (self.code, self.message, status) = (code, message, code)
    }

    /// The failure of a call, on what has this name: a file that cannot be created or written, unless another code is given.
    init(_ code: ExitCode = .cannotCreate, on name: String, _ error: Int32 = errno) {
        self.init(code, "\(name): \(Self.reason(error))")
        systemError = error
    }

    /// The failure of a command that could not listen or connect, with the option that helps.
    init(_ error: TransportError) {
        let option =
            switch error.code {
            case .tokenRejected: "; does --token-file name the same token at both ends?"
            case .tokenRequired: " (--token-file)"
            default: ""
            }
        self.init(ExitCode(error), error.description + option)
    }

    /// Whether the reader of a pipe has gone, which ends a program quietly.
    var isBrokenPipe: Bool { systemError == EPIPE }

    private static func reason(_ error: Int32) -> String {
        switch error {
        case EEXIST: "already exists; use --overwrite to replace it"
        case ENOTSUP: "not a regular file, and not replaced; name another file"
        case EWOULDBLOCK: "another program still writes it; name another file"
        case ESTALE: "removed while it was written; what it held is lost"
        case EISDIR: "Is a directory; name a file in it"
        case ELOOP: "a symbolic link that belongs to another user, or leads in a circle"
        default: unsafe strerror(error).map { unsafe String(cString: $0) } ?? "error \(error)"
        }
    }

    /// The event with which a command ends.
    var event: JSONLine {
        ["event": "failed", "exitCode": code.rawValue, "message": message]
    }
}
