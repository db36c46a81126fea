#if os(Linux)
    import Foundation
    import TestDescriptions
    import TestSupport
    import Testing

    /// Senders of frames in shared memory, when something goes wrong.
    @Suite struct SharedCommandTests {
        private let place = Workplace.new

        /// Shows P283.
        @Test(.leftOut(of: .thread, because: "the thread sanitizer ends if files may not grow"))
        func `a sender that cannot create shared memory sends JPEGs`() async throws {
            let receiver = try await place.receiver("--shared", "--json", "--count", "3")
            let image = "$X/jpeg/chelsea-420.jpg"
            // A file of more than 5 kB may not be created, and memory that is shared is a file.
            let sender = try place.shell("ulimit -f 10; exec $F send $S \(image) --shared --loop 3 --fps 50 --json")
            let ending = await sender.ended()
            #expect(ending.status == 0 && !ending.text.contains("shared"), "\(ending)")
            let received = await receiver.ended()
            let frames = try received.events("frame")
            #expect(received.status == 0 && frames.count == 3, "\(received)")
            #expect(!received.text.contains(#""shared":true"#), "\(received)")
        }

        /// Shows P190.
        @Test func `a sender that is killed leaves no memory in the receiver, which serves the next one`() async throws
        {
            let receiver = try await place.receiver("--shared", "--json")
            let image = Places.fixture("jpeg/chelsea-420.jpg")
            for connection in 1...3 {
                let options = ["--shared", "--loop", "0", "--fps", "100", "--quiet"]
                let sender = try place.framesocket(["send", place.socket, image] + options)
                try await receiver.printed(#""event":"frame","connection":\#(connection),"#)
                try #require(try await becomesTrue { try receiver.sharedMappings() > 0 })
                sender.kill()
                try await receiver.printed(#""event":"closed","connection":\#(connection)"#)
                try #require(try await becomesTrue { try receiver.sharedMappings() == 0 })
            }
            let ending = await receiver.ended(by: .interrupt)
            #expect(ending.status == 130 && ending.text.contains(#""shared":true"#), "\(ending)")
        }
    }
#endif
