#if os(Linux)
    import FrameSocketTesting
    import FrameTransport
    import TestSupport
    import Testing

    /// A sender of frames in shared memory that does what a test says: images of 64 x 16 pixels, BGRA.
    final class SharedSender: Sendable {
        static let byteCount = 4096

        let socket: PeerSocket

        /// Connects to a server.
        init(to path: String) throws {
            socket = try PeerSocket.connected(to: path)
        }

        /// Reads the hello, and returns the version of the messages for shared memory that it states.
        func hello() async throws -> String? {
            let hello = try await socket.nextMessage()
            #expect(hello?.requestName == "hello")
            return hello?.field("Shared-Memory")
        }

        /// An announcement.
        static func announcement(_ index: Int = 0, byteCount: Int = byteCount) -> [UInt8] {
            PeerMessage.sharedBuffer(index, byteCount: byteCount).bytes
        }

        /// A frame that fits.
        static func frame(_ index: Int = 0, sequence: UInt64? = nil) -> [UInt8] {
            PeerMessage.sharedFrame(
                in: index,
                format: "bgra",
                width: 64,
                height: 16,
                planes: [(0, 256)],
                sequence: sequence
            ).bytes
        }

        /// Announces memory.
        func announce(_ memory: SealedMemory, as index: Int = 0, byteCount: Int? = nil) async throws {
            let bytes = Self.announcement(index, byteCount: byteCount ?? memory.byteCount)
            try await socket.write(bytes, passing: [memory.descriptor])
        }

        /// Announces a descriptor.
        func announce(_ descriptor: Int32) async throws {
            try await socket.write(Self.announcement(), passing: [descriptor])
        }

        /// Sends a frame in a buffer.
        func send(in index: Int = 0, sequence: UInt64? = nil) async throws {
            try await socket.write(Self.frame(index, sequence: sequence))
        }

        /// Sends a JPEG.
        func sendJPEG(_ seed: Int = 1) async throws {
            try await socket.write(message(body(seed, count: 300)))
        }

        /// Reads the next request of this name.
        @discardableResult
        func request(_ name: String) async throws -> PeerMessage {
            try #require(
                try await socket.nextMessage { $0.requestName == name },
                "the server has ended, and '\(name)' was expected"
            )
        }
    }

    extension Frame {
        /// The byte that every byte of a shared image is; nil if they differ, or it is not shared.
        var sharedByte: UInt8? {
            shared?.withPlane(0) { bytes, _ in
                bytes.count == 4096 && bytes.indices.allSatisfy { bytes[$0] == bytes[0] } ? bytes[0] : nil
            } ?? nil
        }
    }

    /// A sender and its receiver on the server that a test attacks, who must not notice: every other frame is shared.
    final class SharedBystander: Sendable {
        private let sender: SharedSender
        private let connection: FrameConnection
        private let memory: SealedMemory
        private let counter = Counter()

        init(_ directory: TemporaryDirectory, _ server: FrameServer) async throws {
            sender = try SharedSender(to: directory.socket)
            connection = try #require(try await firstConnection(of: server))
            memory = try SealedMemory()
            #expect(try await sender.hello() == "1")
            try await sender.announce(memory)
            try await exchange()
        }

        /// Another two frames go through, one of each kind, and are the next and whole.
        func exchange() async throws {
            let number = UInt8(truncatingIfNeeded: counter.value)
            counter.increment()
            memory.fill(number)
            try await sender.send()
            try await sender.sendJPEG(Int(number))
            var frames = connection.frames.makeAsyncIterator()
            try await {
                let frame = try #require(try await frames.next(), "\(connection.closeReason as Any)")
                #expect(frame.sharedByte == number)
            }()
            #expect(try await frames.next()?.jpeg?.array() == body(Int(number), count: 300))
            #expect(try await sender.request("release").field("Shared-Buffer") == "0")
        }
    }
#endif
