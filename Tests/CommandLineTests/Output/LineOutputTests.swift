import Foundation
import TestSupport
import Testing

@testable import FrameSocketTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Lines that are written by a thread of their own.
@Suite struct LineOutputTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    @Test func `lines that nobody reads are dropped and counted, and the others arrive in order`() async throws {
        let reader = try SilentReader(place.path("out"))
        let descriptor = unsafe open(place.path("out"), O_WRONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        let output = LineOutput(descriptor, name: "out") { "\($0) left out" }
        // More than a pipe and the lines that may wait have room for, and it returns.
        let count = 30_000
        for index in 0..<count { output.write("line \(index)\n") }
        let read = Task.detached { reader.readAll() }
        try #require(
            await becomesTrue {
                output.flush()
                return output.isIdle
            }
        )
        output.write("line \(count)\n")
        try #require(
            await becomesTrue {
                output.flush()
                return output.isIdle
            }
        )
        close(descriptor)
        let lines = await read.value.completeLines
        var (next, notices) = (0, 0)
        for line in lines {
            let words = line.split(separator: " ")
            if words.last == "out", let dropped = Int(words[0]) {
                (next, notices) = (next + dropped, notices + 1)
            } else {
                #expect(line == "line \(next)")
                next += 1
            }
        }
        // Dropped are only the last ones here, as the reader began after them.
        #expect(next == count + 1 && notices >= 1, "\(next) of \(count + 1), \(notices) notices")
    }

    @Test func `nobody waits long at the end for a reader that does not read`() async throws {
        let reader = try SilentReader(place.path("out"))
        let descriptor = unsafe open(place.path("out"), O_WRONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        let output = LineOutput(descriptor, name: "out")
        // The pipe may take all that can wait, but not twice as much.
        for index in 0..<60_000 {
            if index == 30_000 { output.flush() }
            output.write("line \(index)\n")
        }
        output.flush()
        #expect(!output.isIdle)
        // Its thread has to end before the pipe does.
        let read = Task.detached { reader.readAll() }
        try #require(await becomesTrue { output.isIdle })
        close(descriptor)
        _ = await read.value
    }

    @Test func `a failure is kept, and nothing more is written`() async throws {
        let descriptor = unsafe open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        let output = LineOutput(descriptor, name: "full")
        output.write("line\n")
        output.flush()
        #expect(output.failure?.message == "full: No space left on device")
        output.write("line\n")
        output.flush()
        #expect(output.isIdle)
        close(descriptor)
    }
}
