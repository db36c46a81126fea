import FrameSocket

/// How a program ends, as sysexits.h numbers it and scripts read it.
enum ExitCode: Int32 {
    case done = 0
    /// The command was typed wrongly.
    case usage = 64
    /// What was read is not what it should be.
    case badData = 65
    /// A file to read is not there, or cannot be read.
    case noInput = 66
    /// Nobody listens at the path, somebody else does, or the connection broke.
    case unavailable = 69
    /// The system gives too few descriptors, or too little memory.
    case systemError = 71
    /// A file or socket cannot be made.
    case cannotCreate = 73
    /// It took too long.
    case timedOut = 75
    /// Ctrl-C.
    case interrupted = 130
}

extension ExitCode {
    /// How a program ends that could not listen or connect.
    init(_ error: TransportError) {
        self =
            switch error.code {
            case .tokenRequired, .invalidToken: .usage
            // A system call that failed has to do with making a socket.
            case .pathTooLong, .invalidPath, .notASocket, .unsafePath, .unfitSocket, .cannotCreate, .system:
                .cannotCreate
            case .noMemory: .systemError
            case .sendTimedOut: .timedOut
            default: .unavailable
            }
    }
}

/// Why a command ends before its work is done.
struct CommandFailure: Error {
    let code: ExitCode
    let message: String

    init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }
}
