#if os(Linux)
    import Foundation
    import FrameSocket
    import TestSupport
    import Testing

    /// Where processes are killed: three JPEGs of which each frame must be one, whole, and what the survivor may keep.
    struct KillSite: Sendable, CustomStringConvertible {
        let place: Workplace
        private let jpegs: [[UInt8]]
        private let files: [String]
        private let seed: UInt64
        private let kills: Int

        /// Where the survivor's frames are.
        let pool = FrameBytes.Pool(maximumIdleBytes: 64 << 20)

        /// How many frames the survivor may need more: fewer than two for each of the fewest kills.
        private static let frameTolerance = 20
        /// And how many bytes besides.
        private static let memoryTolerance = 4 << 20

        var description: String { "KILLS=\(kills) SEED=\(seed)" }

        init() throws {
            let environment = ProcessInfo.processInfo.environment
            kills = environment["KILLS"].flatMap { Int($0) } ?? 10
            seed = environment["SEED"].flatMap { UInt64($0) } ?? .random(in: 0...UInt64.max)
            let place = try Workplace()
            let jpegs = try (UInt64(0)..<3).map(largeJPEG)
            self.place = place
            self.jpegs = jpegs
            files = try jpegs.enumerated().map { try place.file("\($0.offset).jpg", $0.element) }
        }

        // MARK: Who is killed

        /// A sender of the JPEGs, again and again.
        func sender(_ options: String...) throws -> Program {
            let arguments = ["send", place.socket] + files + ["--passthrough", "--loop", "0", "--quiet"] + options
            return try Program(Places.framesocket, arguments)
        }

        /// A receiver that tells of each frame, and writes it to a file.
        func receiver() throws -> Program {
            try? FileManager.default.removeItem(atPath: place.path("out"))
            return try Program(
                Places.framesocket,
                ["receive", place.socket, "--json", "--quiet", "--output", place.path("out")]
            )
        }

        /// When one is killed.
        struct Moment {
            /// After how many frames.
            let frames: Int
            /// And then after how many microseconds.
            let delay: Int
        }

        /// Calls `body`, which kills a process, as often as it was told to, and looks at what this process keeps of it.
        func killRepeatedly(_ body: (Moment) async throws -> Void) async throws {
            var random = SplitMix(seed: seed)
            var before: (descriptors: [String: Int], frames: Int, memory: Int)?
            // The first ones make what stays: pools, threads, what Dispatch has.
            for _ in 0..<2 {
                for _ in 0..<max(1, before == nil ? kills / 10 : kills) {
                    let delay = Int.random(in: 0...20_000, using: &random)
                    try await body(Moment(frames: Int.random(in: 0...4, using: &random), delay: delay))
                }
                if before == nil { before = (try await descriptorsAtStart(), pool.allocations, try allocatedBytes()) }
            }
            let start = try #require(before)
            #expect(await becomesTrue { descriptorsAdded(to: start.descriptors).isEmpty }, "\(self)")
            let frames = pool.allocations - start.frames
            #expect(frames < Self.frameTolerance, "\(self): memory for \(frames) frames more")
            let growth = try allocatedBytes() - start.memory
            #expect(growth < Self.memoryTolerance, "\(self): \(growth) bytes more than \(start.memory)")
        }

        // MARK: What arrives

        /// One of the JPEGs, as a message.
        func message(_ index: Int) -> FrameMessage {
            let jpeg = jpegs[index % jpegs.count]
            return FrameMessage(
                jpeg: FrameBytes(copying: jpeg.span, pool: pool),
                info: FrameInfo(bufferSize: BufferSize(width: 500, height: 500))
            )
        }

        /// Receives to the end, sees that each frame is the one that is due, and says how many there were.
        @discardableResult
        func receive(from connection: FrameConnection) async throws -> Int {
            var count = 0
            for try await frame in connection.frames {
                let isWhole = frame.jpeg?.holds(jpegs[count % jpegs.count]) == true
                #expect(isWhole, "\(self): frame \(count) is torn")
                count += 1
            }
            return count
        }

        /// Sees that each frame that a receiver told of is one of the JPEGs.
        func checkOutput(of ending: Ending) throws {
            for frame in try ending.events("frame") {
                let index = try #require(frame["index"])
                let bytes = try Data.bytes(at: place.path("out/frame-" + String(format: "%06d", index) + ".jpg"))
                let isWhole = jpegs.contains { FrameBytes(copying: $0.span).holds(bytes) }
                #expect(isWhole, "\(self): frame \(index) is torn")
            }
        }
    }

    extension FrameBytes {
        /// Whether these are the bytes; without a copy, and in one call.
        fileprivate func holds(_ bytes: [UInt8]) -> Bool {
            withSpan { own in
                unsafe own.withUnsafeBytes { own in
                    unsafe bytes.withUnsafeBytes { bytes in
                        guard own.count == bytes.count, let first = own.baseAddress, let second = bytes.baseAddress
                        else {
                            return false
                        }
                        return unsafe memcmp(first, second, bytes.count) == 0
                    }
                }
            }
        }
    }
#endif
