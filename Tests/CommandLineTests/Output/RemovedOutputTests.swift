import Foundation
import TestSupport
import Testing

/// Files that are removed while a command writes them: nobody will find what is written from then on.
@Suite(.serialized) struct RemovedOutputTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
        try FileManager.default.createDirectory(atPath: place.path("out"), withIntermediateDirectories: true)
    }

    static let removals = ["rm $D/out/file", "rm -r $D/out", "touch $D/other && mv $D/other $D/out/file"]

    private func remove(by command: String) async throws {
        let removal = try await place.shell(command).ended()
        try #require(removal.status == 0, "\(removal)")
    }

    private func expectFailure(_ program: Program) async throws {
        let ending = await program.ended(73, "removed while it was written")
        let last = try #require(try ending.events.last)
        #expect(last.name == "failed" && last["exitCode"] == 73)
    }

    @Test(arguments: removals) func `a recording ends when its file is removed`(removal: String) async throws {
        let recorder = try place.framesocket(["record", place.socket, place.path("out/file"), "--json"])
        try await recorder.lines(1)
        let options = ["--passthrough", "--loop", "0", "--fps", "50", "--quiet"]
        let sender = try place.framesocket(
            ["send", place.socket, Places.fixture("jpeg/chelsea-420.jpg")] + options
        )
        try await recorder.printed(#""event":"frame""#)
        try await remove(by: removal)
        try await expectFailure(recorder)
        _ = await sender.ended()
    }

    @Test(arguments: ["record $S $D/out/file --json", "receive $S --audio $D/out/file --json"])
    func `it is noticed even if nothing arrives`(command: String) async throws {
        let program = try place.framesocket(words: command)
        try await program.lines(1)
        try await remove(by: Self.removals[0])
        try await expectFailure(program)
    }

    @Test func `counters that can no longer be written are reported once, and the exit code tells`() async throws {
        let receiver = try place.framesocket(words: "receive $S --metrics $D/out/file --json")
        try await receiver.lines(1)
        try await remove(by: Self.removals[1])
        try await receiver.printed(#""code":"metrics.unwritten""#)
        let ending = await receiver.ended(by: .interrupt, 73, "out/file")
        #expect(try ending.events("error").count == 1)
    }
}
