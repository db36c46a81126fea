#if os(Linux)
    import Foundation
    import Glibc
    import Testing

    /// What docs/containers.md says, in namespaces such as those of containers.
    @Suite(.needsNamespaces) struct ContainerTests {
        private let place = Workplace.new
        private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

        @Test(arguments: [
            "--mount", "--pid --fork --mount-proc", "--ipc", "--net", "--uts",
            "--mount --pid --ipc --net --uts --fork --mount-proc",
        ])
        func `a sender in other namespaces reaches the server through the directory`(options: String) async throws {
            let receiver = try await place.receiver("--count", "1")
            try await place.shell("unshare \(options) $F send $S \(jpeg)").ended(0)
            await receiver.ended(0)
        }

        @Test func `images cross namespaces in shared memory`() async throws {
            let receiver = try await place.receiver("--count", "2", "--shared", "--json")
            let namespaces = "--mount --pid --ipc --net --fork --mount-proc"
            try await place.shell("unshare \(namespaces) $F send $S \(jpeg) --loop 2 --shared --json")
                .ended(0)
            let frames = try await receiver.ended().events("frame")
            #expect(frames.count == 2 && frames.allSatisfy { $0["bytes"] == 0 })
        }

        @Test func `a mounted directory shows the socket of a new server, and a mounted socket does not`() async throws
        {
            let first = try await place.receiver("--count", "1")
            let container = try place.shell(
                """
                mkfifo $D/go; mkdir $D/all; touch $D/one
                unshare --mount sh -c "mount --bind $D $D/all; mount --bind $S $D/one; echo mounted; cat $D/go; \
                $F send $D/all/s \(jpeg); echo all \\$?; $F send $D/one \(jpeg) --wait 0.2; echo one \\$?"
                """
            )
            try await container.lines(1)
            try await place.send(jpeg).checked(0)
            await first.ended(0)
            let second = try await place.receiver("--count", "1")
            _ = try await place.shell(": >$D/go").ended()
            let ending = await container.ended()
            #expect(ending.lines == ["mounted", "all 0", "one 69"], "\(ending)")
            await second.ended(0)
        }

        @Test func `a read-only mount is enough for a sender, and not for a server`() async throws {
            let receiver = try await place.receiver("--count", "1")
            let mount =
                "mkdir $D/ro; unshare --mount sh -c \"mount --bind -o ro $D $D/ro; mount -o remount,bind,ro $D/ro;"
            try await place.shell("\(mount) $F send $D/ro/s \(jpeg)\"").ended(0)
            await receiver.ended(0)
            try await place.shell("rmdir $D/ro; \(mount) $F receive $D/ro/t\"").ended(73, "mounted read-only")
        }

        @Test func `a sender in a user namespace is the user that it is outside`() async throws {
            let receiver = try await place.receiver("--json", "--count", "1")
            try await place.shell("unshare --user --map-user=1234 $F send $S \(jpeg)").ended(0)
            let events = try await receiver.ended().events("connected")
            #expect(events.first?["uid"] == Int(geteuid()))
        }
    }
#endif
