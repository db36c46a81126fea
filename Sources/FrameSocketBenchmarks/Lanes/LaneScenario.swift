import CBaseline
import FrameSocket

/// What every contender does in one case of ``LaneBenchmarks``: frames of a format, from one process to another.
struct LaneScenario: Sendable {
    /// The size and the pixels of the frames.
    enum Format: String, CaseIterable {
        case fullHD = "1080p BGRA"
        case planarFullHD = "1080p NV12"
        case ultraHD = "4K BGRA"

        var size: BufferSize {
            self == .ultraHD ? BufferSize(width: 3840, height: 2160) : BufferSize(width: 1920, height: 1080)
        }

        var pixels: PixelFormat { self == .planarFullHD ? .nv12 : .bgra }
    }

    /// How the sender's pixels get into shared memory.
    enum Mode: String, CaseIterable {
        /// They are there already; nothing is drawn, so this is the cost of the lane alone.
        case inPlace = "in place"
        /// All of them are drawn in place.
        case drawn
        /// They are copied, and all rows have changed.
        case copied
        /// They are copied, and a tenth of the rows has changed.
        case typing

        /// Whether the sender's images are copied to shared memory.
        var isCopied: Bool { self == .copied || self == .typing }

        /// How many of a thousand rows carry the number of the frame.
        ///
        /// At least one row of each plane does.
        var changedPermille: Int {
            switch self {
            case .inPlace, .drawn: 0
            case .copied: 1000
            case .typing: 100
            }
        }
    }

    let format: Format
    let mode: Mode
    /// The nanoseconds from one frame to the next, or 0 for as fast as possible.
    let interval: UInt64
    /// The number of frames in one run.
    let frames: Int
    /// How many bytes of each row the receiver reads, one load per cache line.
    let bytesReadPerRow: Int

    var name: String { "lane/\(interval > 0 ? "60 fps" : "flat out")/\(mode.rawValue)/\(format.rawValue)" }
}

extension LaneScenario.Format {
    /// The number of bytes in a frame without padding.
    var byteCount: Int {
        size.width * size.height * (pixels == .nv12 ? 3 : 8) / 2
    }

    /// The layout of a frame in the plain C lane.
    var shape: baseline_lane_shape {
        let (width, height) = (Int32(size.width), Int32(size.height))
        return pixels == .nv12
            ? baseline_lane_shape(planes: 2, strides: (width, width), rows: (height, height / 2))
            : baseline_lane_shape(planes: 1, strides: (width * 4, 0), rows: (height, 0))
    }
}

extension PixelBuffer {
    /// Writes the number of a frame to the rows that change, as the plain C lane does.
    mutating func markRows(for mode: LaneScenario.Mode, number: UInt64) throws {
        for plane in 0..<planeCount {
            let shape = self.plane(plane)
            try withMutablePlane(plane) { bytes in
                unsafe bytes.withUnsafeMutableBufferPointer { bytes in
                    unsafe baseline_lane_mark(
                        bytes.baseAddress,
                        Int32(shape.bytesPerRow),
                        Int32(shape.height),
                        Int32(mode.changedPermille),
                        number
                    )
                }
            }
        }
    }

    /// Reads as much of each row as the scenario says.
    ///
    /// - Parameters:
    ///   - scenario: How much is read, and which rows change.
    ///   - number: The number of the frame.
    /// - Throws: `BaselineFailure` if a row that changes does not carry the number.
    func readRows(for scenario: LaneScenario, number: UInt64) throws {
        for plane in 0..<planeCount {
            let shape = self.plane(plane)
            let status = withPlane(plane) { bytes in
                unsafe bytes.withUnsafeBufferPointer { bytes in
                    unsafe baseline_lane_read(
                        bytes.baseAddress,
                        Int32(shape.bytesPerRow),
                        Int32(shape.height),
                        Int32(scenario.bytesReadPerRow),
                        Int32(scenario.mode.changedPermille),
                        number
                    )
                }
            }
            guard status == 0 else { throw BaselineFailure() }
        }
    }
}
