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

    init(_ code: ExitCode, _ message: String) {
        (self.code, self.message, status) = (code, message, code)
    }
}

extension CommandFailure {
    /// The failure of a command that could not open or write a file.
    init(_ code: ExitCode, opening failure: Files.Failure) {
        self.init(code, failure.isTaken ? Files.refusal(failure.name) : failure.message)
    }
}

extension CommandFailure {
    /// The event with which a command ends.
    var event: JSONLine {
        var line = JSONLine(event: "failed")
        line.add("exitCode", code.rawValue)
        line.add("message", message)
        return line
    }
}
