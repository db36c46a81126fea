import FrameSocket

/// Raw video on standard output: images of one size, one after another.
///
/// The reader knows the size in advance, or from a header before the first image. All images therefore have the size of
/// the first, or the one that the user gave; an image of another size ends the output.
struct RawOutput {
    /// The format of the output.
    struct Settings: Sendable {
        /// How pixels are arranged.
        let format: PixelFormat
        let options: RawVideoOptions
        /// Whether YUV4MPEG2 headers precede the stream and each frame.
        let isY4M: Bool

        /// What the samples of planar formats mean.
        fileprivate var color: PixelBuffer.Color { options.color(orElse: .jpeg) }
    }

    private let settings: Settings
    private let viewport: FrameDecoder.Viewport?
    private let decoder: FrameDecoder
    /// Memory for converted images, reused from one to the next.
    private let converted = PixelBuffer.Pool(maximumIdleImages: 1)
    private var size: BufferSize?

    /// Creates an output.
    ///
    /// - Parameters:
    ///   - settings: The format.
    ///   - viewport: The size that every image is scaled to; nil leaves images as they are.
    ///   - decoder: The decoder of the frames.
    init(_ settings: Settings, viewport: FrameDecoder.Viewport?, decoder: FrameDecoder) {
        self.settings = settings
        self.viewport = viewport
        self.decoder = decoder
    }

    /// Returns the bytes for a frame.
    mutating func bytes(of frame: Frame) throws -> FrameBytes {
        let pixels = try decoder.decode(frame, as: settings.format, in: viewport).image
            .converted(from: .jpeg, to: settings.color, pool: converted)
        let header = try header(for: BufferSize(width: pixels.width, height: pixels.height))
        if let strides = settings.options.strides { try pixels.check(strides) }
        let strides = settings.options.strides ?? pixels.packedStrides
        let byteCount = header.count + pixels.byteCount(strides)
        return try FrameBytes(capacity: byteCount) { output throws(TurboJPEGError) in
            // Without memory there is no room at all, which is no fault of the image.
            guard output.freeCapacity >= byteCount else {
                throw TurboJPEGError(.allocationFailed, "not enough memory for \(byteCount) bytes of raw video")
            }
            for byte in header { output.append(byte) }
            if settings.options.strides == nil {
                try pixels.copyPacked(into: &output)
            } else {
                pixels.copy(into: &output, strides)
            }
        }
    }

    /// Returns the bytes that precede an image of the given size.
    private mutating func header(for current: BufferSize) throws(CommandFailure) -> [UInt8] {
        if let size, size != current {
            throw CommandFailure(
                .badData,
                "the size changed from \(size.width)x\(size.height) to \(current.width)x\(current.height), which raw "
                    + "video cannot express; scale all images to one size with --letterbox, --fill or --stretch WxH"
            )
        }
        let isFirst = size == nil
        size = current
        guard settings.isY4M else { return [] }
        let stream = isFirst ? Y4MHeader.text(of: current, settings.color.range) : ""
        return Array((stream + "FRAME\n").utf8)
    }
}

extension PixelBuffer {
    /// The bytes of the visible rows of each plane.
    fileprivate var packedStrides: [Int] { (0..<planeCount).map { plane($0).visibleBytesPerRow } }

    /// The bytes of all planes at the strides of the output.
    fileprivate func byteCount(_ strides: [Int]) -> Int {
        strides.enumerated().reduce(0) { $0 + $1.element * plane($1.offset).height }
    }

    /// Appends all planes, with zeros between the rows.
    fileprivate func copy(into output: inout OutputSpan<UInt8>, _ strides: [Int]) {
        for (index, stride) in strides.enumerated() {
            for row in 0..<plane(index).height {
                withRow(row, ofPlane: index) { bytes in
                    for position in bytes.indices { output.append(bytes[position]) }
                }
                output.append(repeating: 0, count: stride - plane(index).visibleBytesPerRow)
            }
        }
    }
}

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
