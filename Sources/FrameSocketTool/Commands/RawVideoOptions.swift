import FrameSocket

/// The options of `send` and `receive` that describe raw video.
struct RawVideoOptions: Sendable {
    static let help = """
          --range R        sample range of i420, nv12 and Y4M: full, as in JPEG, or
                           limited, as in most video
          --matrix M       their matrix: bt601, as in JPEG, or bt709
          --stride N,…     bytes from one row to the next, for each plane of raw video
        """

    /// The requested range.
    private let range: PixelBuffer.Color.Range?
    private let matrix: PixelBuffer.Color.Matrix?
    /// The bytes from one row to the next in each plane; nil if rows are contiguous.
    let strides: [Int]?

    init(_ arguments: inout Arguments) throws(UsageError) {
        range = try arguments.value("--range", "full or limited") { PixelBuffer.Color.Range(rawValue: $0) }
        matrix = try arguments.value("--matrix", "bt601 or bt709") { PixelBuffer.Color.Matrix(rawValue: $0) }
        strides = try arguments.value("--stride", "byte counts such as 1280 or 1172,588,588") { text in
            let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
            let strides = numbers.compactMap(\.self)
            return strides.count == numbers.count && strides.allSatisfy { 1...(1 << 20) ~= $0 } ? strides : nil
        }
    }

    /// Whether any of the options was given.
    var isGiven: Bool { hasColor || strides != nil }

    private var hasColor: Bool { range != nil || matrix != nil }

    /// Returns what the samples mean, with defaults for what the options leave open.
    func color(orElse color: PixelBuffer.Color) -> PixelBuffer.Color {
        PixelBuffer.Color(range: range ?? color.range, matrix: matrix ?? color.matrix)
    }

    /// Checks that the options apply to images of a format.
    func check(_ format: PixelFormat) throws(UsageError) {
        guard !hasColor || format.isPlanar else {
            throw UsageError(
                message: "--range and --matrix require i420 or nv12; \(format.rawValue) has no luma and chroma"
            )
        }
        guard let strides else { return }
        let count = format == .i420 ? 3 : format == .nv12 ? 2 : 1
        guard strides.count == count else {
            let planes = count == 1 ? "1 plane" : "\(count) planes"
            throw UsageError(
                message: "--stride expects one number for each plane, and \(format.rawValue) has \(planes)"
            )
        }
    }
}

extension PixelBuffer {
    /// Checks that rows fit into the strides.
    func check(_ strides: [Int]) throws(CommandFailure) {
        for (index, stride) in strides.enumerated() where stride < plane(index).visibleBytesPerRow {
            let needed = plane(index).visibleBytesPerRow
            throw CommandFailure(
                .usage,
                "--stride \(stride) is too small for plane \(index) of \(width)x\(height) \(format.rawValue), whose rows "
                    + "have"
                    + " \(needed) bytes"
            )
        }
    }
}
