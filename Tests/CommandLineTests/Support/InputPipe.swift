import Foundation
import Synchronization
import TestSupport

/// A pipe from a test to a program's standard input, which stays open until the test ends it or the program is gone.
final class InputPipe: Sendable {
    /// The end that the program gets.
    let readEnd: Int32
    /// The test's end; nil when it is closed.
    private let writeEnd: Mutex<Int32?>
    private let queue = DispatchQueue(label: "InputPipe")

    init() throws {
        let ends = try PipeEnds()
        readEnd = ends.readEnd
        writeEnd = Mutex(ends.writeEnd)
    }

    deinit {
        if let descriptor = writeEnd.withLock({ $0.take() }) { close(descriptor) }
    }

    /// Writes bytes behind those before, while the test goes on; what a program does not read before it ends is lost.
    func write(_ bytes: [UInt8]) {
        queue.async { [self] in
            // A program that has ended is none of the test's failures.
            var signals = sigset_t()
            unsafe sigemptyset(&signals)
            unsafe sigaddset(&signals, SIGPIPE)
            _ = unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
            guard let descriptor = writeEnd.withLock({ $0 }) else { return }
            try? FileHandle(fileDescriptor: descriptor).write(contentsOf: bytes)
        }
    }

    /// Ends the program's input, behind what was written.
    func end() {
        queue.async { [self] in
            if let descriptor = writeEnd.withLock({ $0.take() }) { close(descriptor) }
        }
    }
}

extension Program {
    /// Writes to a standard input that is a pipe.
    func write(_ bytes: [UInt8]) {
        if case .pipe(let pipe) = input { pipe.write(bytes) }
    }
}
