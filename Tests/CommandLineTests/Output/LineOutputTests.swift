import Foundation
import TestSupport
import Testing

@testable import FrameSocketTool

/// Lines for somebody who may stop reading.
@Suite struct LineOutputTests {
    private let place = Workplace.new

    @Test func `lines that nobody reads are left out and counted, and the others arrive in order`() async throws {
        let reader = try SilentReader(place.path("out"), isShort: true)
        let descriptor = unsafe open(place.path("out"), O_WRONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        let output = LineOutput(descriptor, name: "out") { "\($0) left out" }
        // More than a pipe has room for, and it returns.
        let count = 30_000
        for index in 0..<count { try output.write("line \(index)\n") }
        let read = Task.detached { reader.readAll() }
        #expect(await becomesTrue { reader.count == 0 })
        for index in count...count + 1 { try output.write("line \(index)\n") }
        close(descriptor)
        let lines = await read.value.completeLines
        let told = lines.filter { $0.hasSuffix("left out") }
        let written = lines.count - told.count
        let omitted = told.compactMap { Int($0.prefix { $0 != " " }) }
        // They are told once, before the first line behind them.
        #expect(omitted == [count + 2 - written] && lines.suffix(2) == ["line \(count)", "line \(count + 1)"])
        #expect(lines.dropLast(3).enumerated().allSatisfy { $1 == "line \($0)" })
    }

    @Test func `a failure is thrown`() throws {
        let descriptor = unsafe open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        let output = LineOutput(descriptor, name: "full")
        let failure = #expect(throws: CommandFailure.self) { try output.write("line\n") }
        #expect(failure?.message == "full: No space left on device")
        close(descriptor)
    }
}
