#if os(Linux)
    import Foundation
    import TestDescriptions
    import TestSupport
    import Testing

    /// How much memory the sender of raw video takes: one image, what it is scaled to, and its JPEG.
    @Suite(.serialized, .timeLimit(.minutes(10))) struct RawMemoryTests {
        private let place = Workplace.new

        struct Row: Sendable, CustomTestStringConvertible {
            let width: Int
            let height: Int
            let options: [String]
            /// The most memory of its own that the sender may have, in bytes, apart from the image that it reads.
            let rest: Int

            var size: String { "\(width)x\(height)" }
            var testDescription: String { ([size] + options).joined(separator: " ") }
        }

        /// The rows of the table in docs/features.md that are about raw video.
        ///
        /// A second image would be 8.3 and 33 MB.
        static let rows = [
            Row(width: 1920, height: 1080, options: [], rest: 8_000_000),
            Row(width: 1920, height: 1080, options: ["--fit", "960x540"], rest: 8_000_000),
            Row(width: 3840, height: 2160, options: ["--scale", "1/2"], rest: 14_000_000),
            Row(width: 3840, height: 2160, options: ["--quality", "75"], rest: 14_000_000),
        ]

        @Test(.leftOut(of: .address, .thread, because: "the sanitizer uses memory of its own"), arguments: rows)
        func `a sender of raw video holds one image at a time`(row: Row) async throws {
            let frame = row.width * row.height * 4
            // Areas of one gray; longer than a frame by a few pixels, so that every frame differs from the one before.
            var grays = SplitMix(seed: 1)
            var bytes: [UInt8] = []
            while bytes.count < frame + 388 {
                bytes += [UInt8](repeating: UInt8(truncatingIfNeeded: grays.next()), count: 388)
            }
            let receiver = try await place.receiver("--json")
            let sender = try place.framesocket(
                ["send", place.socket, "-", "--size", row.size, "--format", "bgra"] + row.options,
                input: .pipe(InputPipe())
            )
            // More than it is waited for.
            for _ in 0..<100 { sender.write(bytes) }
            try await receiver.lines(2 + 12)
            let peak = try sender.peakMemory()
            #expect(peak >= frame && peak < frame + row.rest, "\(peak - frame) bytes besides the image")
            await sender.ended(by: .interrupt, 130)
        }
    }
#endif
