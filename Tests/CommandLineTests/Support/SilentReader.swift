import Foundation
import TestSupport
import Testing

/// The read end of a named pipe, from which nothing is read until a test says so.
@safe final class SilentReader: Sendable {
    private let descriptor: Int32

    /// Creates the pipe at a path, and opens it; if it is short, it has one page, where the system allows it.
    init(_ path: String, isShort: Bool = false) throws {
        try #require(unsafe mkfifo(path, 0o600) == 0)
        descriptor = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(descriptor >= 0)
        #if os(Linux)
            // F_SETPIPE_SZ, which Glibc's module does not have.
            if isShort { try #require(fcntl(descriptor, 1_031, 4_096) > 0) }
        #endif
    }

    deinit {
        close(descriptor)
    }

    /// How many bytes wait to be read.
    var count: Int {
        var count: Int32 = 0
        return unsafe ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    /// Waits until a program waits for room in the pipe, or has ended.
    ///
    /// How much a pipe holds depends on the system, and on how many others a user has.
    func isFilled(by program: Program) async throws {
        try #require(
            await becomesTrue {
                #if os(Linux)
                    program.hasEnded || count > 2_500 && program.isBlockedInOutput
                #else
                    // It cannot be seen; at least it is soon.
                    program.hasEnded || count > 2_500
                #endif
            }
        )
    }

    /// Reads to the end, a little at a time.
    func readAll() -> [UInt8] {
        _ = fcntl(descriptor, F_SETFL, 0)
        var bytes = [UInt8](repeating: 0, count: 512)
        var all: [UInt8] = []
        while true {
            let count = unsafe read(descriptor, &bytes, bytes.count)
            if count > 0 {
                all += bytes[..<count]
            } else if count == 0 || errno != EINTR {
                return all
            }
        }
    }
}
