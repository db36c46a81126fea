#if os(Linux)
    import Foundation
    import FrameSocketTesting
    import TestDescriptions
    import Testing

    @testable import FrameSocketTool

    /// A system that gives too little: a sentence at the start, and no trap, no hang and no spinning.
    @Suite(.serialized) struct ProcessLimitTests {
        private let place = Workplace.new

        private static let commands = [
            "receive $D/t", "send $D/t $X/jpeg/chelsea-420.jpg --wait 0.1", "preview $D/t --http 127.0.0.1:0",
            "doctor $D/t", "record $D/t $D/r.mkv",
        ]

        /// The preview needs more, for its viewers.
        private static let fewDescriptors =
            commands.flatMap { command in [4, 6, 8, 11, 14, 20, 26].map { (command, $0) } }
            + [30, 64].map { (commands[2], $0) }

        @Test(arguments: fewDescriptors)
        func `too few descriptors end a command with exit code 71 and an explanation`(command: String, limit: Int)
            async throws
        {
            try await place.shell("ulimit -n \(limit); exec $F \(command)").ended(71, "ulimit -n")
            #expect(try place.names() == [])
        }

        @Test(.needsRoot, arguments: ["--version", "receive /tmp/none.sock", "send /tmp/none.sock none.jpg --help"])
        func `without threads a command says so at once`(command: String) async throws {
            // The limit holds for everybody but root.
            try await place.shell(
                """
                T=$(mktemp -d) && chmod 755 $T && cp $F $T/framesocket && chmod 755 $T/framesocket
                setpriv --reuid 65534 --clear-groups bash -c "ulimit -u 1; exec $T/framesocket \(command)"
                status=$?; rm -r $T; exit $status
                """
            ).ended(71, "ulimit -u")
        }

        @Test func `a library that changes the environment costs no argument`() async throws {
            let code = """
                #include <stdlib.h>
                __attribute__((constructor)) void change(void) { clearenv(); setenv("A", "B", 1); }

                """
            let source = try place.file("moves.c", Array(code.utf8))
            _ = try await place.run("cc", "-shared", "-fPIC", "-o", place.path("moves.so"), source)
            let ending = try await place.shell("LD_PRELOAD=$D/moves.so $F help receive").ended()
            #expect(ending.status == 0 && ending.text.contains("Usage: framesocket receive PATH"), "\(ending)")
        }

        @Test(.needsNamespaces, .leftOut(of: .address, because: "the sanitizer itself needs /proc"))
        func `without proc a command says so`() async throws {
            try await place.shell(#"unshare --mount sh -c "umount -l /proc && exec $F --version""#).ended(
                71,
                "mount /proc"
            )
        }

        @Test func `descriptors that are open are counted`() throws {
            let before = ProcessLimits.freeDescriptors(wanted: 8)
            let held = try (0..<3).map { _ in try FileHandle(forReadingFrom: URL(filePath: "/dev/null")) }
            #expect(ProcessLimits.freeDescriptors(wanted: 8) == before - held.count)
        }

        @Test(arguments: Program.Signal.allCases)
        func `with just enough descriptors everything works, signals too`(signal: Program.Signal) async throws {
            let receiver = try place.shell("ulimit -n 30; exec $F receive $S --json")
            _ = try await receiver.lines(1)
            // More senders than descriptors: those that find no place are turned away, or wait.
            let peers = try (0..<40).map { _ in try PeerSocket.connected(to: place.socket) }
            for peer in peers { peer.close() }
            let sender = try place.shell("ulimit -n 30; $F send $S $X/jpeg/chelsea-420.jpg --wait 60")
            await sender.ended(0)
            await receiver.ended(by: signal, 130)
        }

        @Test(
            .leftOut(of: .address, .thread, because: "the sanitizer uses memory of its own"),
            arguments: [
                ("", "ulimit -v 3000000; ", "--letterbox 60000x60000 --force"),
                // A little more than half of what there is: if the first copy fits, the second does not.
                ("", "ulimit -v 1150000; ", "--letterbox 12250x12250 --force"),
                ("ulimit -v 520000; ", "", "--letterbox 8000x4000"),
                // The image fits, and what is written of it does not.
                ("ulimit -v 3000000; ", "", "--letterbox 16x60000 --stride 1048576"),
            ]
        )
        func `too little memory for an image ends a command with exit code 71`(
            receiving: String,
            sending: String,
            option: String
        ) async throws {
            let isSender = receiving.isEmpty
            let raw = isSender ? "" : " --raw bgra \(option) >/dev/null"
            let receiver = try place.shell("\(receiving)exec $F receive $S\(raw)")
            try await receiver.told("listening at")
            let sender = try place.shell("\(sending)exec $F send $S $X/jpeg/chelsea-420.jpg \(isSender ? option : "")")
            await (isSender ? sender : receiver).ended(71, "not enough memory")
            _ = await (receiver.ended(by: .interrupt), sender.ended())
        }

        @Test(
            .leftOut(of: .address, .thread, because: "the sanitizer uses memory of its own"),
            arguments: commands,
            [60_000, 100_000, 300_000]
        )
        func `too little address space ends a command with exit code 71 and an explanation`(command: String, limit: Int)
            async throws
        {
            // The system may need more to start it at all, of which the program says nothing.
            var limit = limit
            var ending = try await place.shell("ulimit -v \(limit); exec $F \(command)").ended()
            while [126, 127].contains(ending.status) {
                limit += 10_000
                ending = try await place.shell("ulimit -v \(limit); exec $F \(command)").ended()
            }
            #expect(ending.status == 71 && ending.errors.contains("ulimit -v"), "\(ending)")
            #expect(try place.names() == [])
        }
    }
#endif
