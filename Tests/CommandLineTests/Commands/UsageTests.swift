import Foundation
import Testing

/// How `framesocket` reads its arguments; Tests/Commands has those that make no sense.
@Suite(.serialized) struct UsageTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    @Test(arguments: [
        ("$F --help", ["Usage: framesocket COMMAND", "receive", "send", "doctor"]),
        ("$F -h", ["Usage: framesocket COMMAND"]),
        ("$F help", ["Usage: framesocket COMMAND"]),
        ("$F help receive", ["Usage: framesocket receive PATH"]),
        ("$F --version", ["framesocket 0."]),
        ("$F receive --version", ["framesocket 0."]),
        ("$F receive $S --count 3 -h", ["Usage: framesocket receive PATH"]),
        ("$F send --help", ["Usage: framesocket send PATH FILE", "--fps", "--loop", "--passthrough", "--size"]),
        ("$F record --help", ["Usage: framesocket record PATH FILE", "--once", "--overwrite"]),
        ("$F replay --help", ["Usage: framesocket replay PATH FILE", "--speed"]),
        ("$F preview --help", ["Usage: framesocket preview PATH", "--http"]),
        ("$F doctor --help", ["Usage: framesocket doctor PATH", "--json", "--timeout"]),
    ])
    func `help goes to standard output and is a success`(command: String, parts: [String]) async throws {
        let ending = try await place.shell(command).ended()
        #expect(ending.status == 0 && ending.errors == "", "\(ending)")
        #expect(parts.allSatisfy { ending.text.contains($0) }, "\(ending)")
        #expect(ending.lines.allSatisfy { $0.count <= 80 })
    }

    @Test(arguments: [
        "$F receive $D/-p --count=1 --output=$D/out --json",
        "$F receive --count 1 --json --output $D/out $D/-p",
        "cd $D; $F receive --count=1 --output out --json -- -p",
        // The last one counts.
        "$F receive $D/-p --count 7 --output $D/in --json --count=1 --output $D/out --json",
    ])
    func `values follow a space or an equals sign, and arguments after two dashes are not options`(
        command: String
    ) async throws {
        let receiver = try place.shell(command)
        try await receiver.lines(1)
        let sending = try place.shell("cd $D; $F send --wait=30 --passthrough -- -p $X/jpeg/chelsea-420.jpg")
        #expect(await sending.ended().status == 0)
        #expect(await receiver.ended().status == 0)
        #expect(try place.names(in: "out") == ["frame-000000.jpg"])
    }
}
