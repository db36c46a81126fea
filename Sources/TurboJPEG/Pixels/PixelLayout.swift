/// The layout of an image's planes in one block of memory, with every size checked.
struct PixelLayout: Sendable {
    /// The largest width and height that a JPEG decoder accepts (`JPEG_MAX_DIMENSION`).
    static let maximumDimension = 65_500

    /// The alignment of the start of every plane and, by default, of every row.
    static let alignment = 64

    let strides: PerPlane<Int>
    let offsets: PerPlane<Int>
    /// The size of the block.
    let byteCount: Int

    /// Creates a layout with rows `bytesPerRow` apart, or aligned if nil.
    init(width: Int, height: Int, format: PixelFormat, bytesPerRow: Int?) throws(TurboJPEGError) {
        let strides = try Self.strides(width: width, height: height, format: format, bytesPerRow: bytesPerRow)
        try self.init(width: width, height: height, format: format, strides: strides)
    }

    /// Creates a layout with the given distance between the rows of each plane.
    init(width: Int, height: Int, format: PixelFormat, strides: PerPlane<Int>) throws(TurboJPEGError) {
        try Self.check(width: width, height: height, format: format, strides: strides)
        var offsets = PerPlane(0, 0, 0)
        var end = 0
        for plane in 0..<format.planeCount {
            // libturbojpeg writes luma in whole chroma samples: an even number of rows avoids a detour for an image of
            // odd height.
            let rows = format.planeHeight(plane, height: height)
            let capacity = format.isPlanar && plane == 0 ? (rows + 1) / 2 * 2 : rows
            offsets[plane] = (end + Self.alignment - 1) / Self.alignment * Self.alignment
            // At most 2^31 times 65,500 for each of three planes.
            end = offsets[plane] + strides[plane] * capacity
        }
        self.strides = strides
        self.offsets = offsets
        self.byteCount = end
    }

    /// Returns the distance between rows for each plane: aligned if nil, otherwise derived from the first plane's.
    ///
    /// Chroma follows luma as in raw video: half of it, rounded up, for each chroma plane of `i420`, and the next even
    /// number for `nv12`.
    static func strides(
        width: Int,
        height: Int,
        format: PixelFormat,
        bytesPerRow: Int?
    ) throws(TurboJPEGError) -> PerPlane<Int> {
        try check(width: width, height: height)
        guard let bytesPerRow else {
            var strides = PerPlane(0, 0, 0)
            for plane in 0..<format.planeCount {
                let visible = format.planeWidth(plane, width: width) * format.bytesPerSample(plane: plane)
                strides[plane] = (visible + alignment - 1) / alignment * alignment
            }
            return strides
        }
        guard bytesPerRow > 0, bytesPerRow < Int(Int32.max) else {
            let needed = format.planeWidth(0, width: width) * format.bytesPerSample(plane: 0)
            throw .invalidStride(bytesPerRow, needed: needed)
        }
        let half = (bytesPerRow + 1) / 2
        return format == .nv12 ? PerPlane(bytesPerRow, half * 2, 0) : PerPlane(bytesPerRow, half, half)
    }

    /// Rejects a size that no JPEG can have.
    static func check(width: Int, height: Int) throws(TurboJPEGError) {
        guard 1...maximumDimension ~= width, 1...maximumDimension ~= height else {
            throw TurboJPEGError(
                .invalidSize,
                "invalid size \(width)x\(height): expected width and height from 1 to \(maximumDimension)"
            )
        }
    }

    /// Rejects a size that no JPEG can have, and rows that overlap.
    static func check(width: Int, height: Int, format: PixelFormat, strides: PerPlane<Int>) throws(TurboJPEGError) {
        try check(width: width, height: height)
        for plane in 0..<format.planeCount {
            let needed = format.planeWidth(plane, width: width) * format.bytesPerSample(plane: plane)
            guard strides[plane] >= needed, strides[plane] <= Int(Int32.max) else {
                throw .invalidStride(strides[plane], needed: needed)
            }
        }
    }
}

extension PixelLayout {
    /// Rejects planes that share samples; sizes and strides have been checked.
    ///
    /// The rows of two planes may alternate if they have the same stride, such as two kinds of chroma side by side.
    static func checkApart(
        _ places: [UInt],
        width: Int,
        height: Int,
        format: PixelFormat,
        strides: PerPlane<Int>
    ) throws(TurboJPEGError) {
        guard places.count > 1 else { return }
        let shapes = places.indices.map { index in
            let visible = format.planeWidth(index, width: width) * format.bytesPerSample(plane: index)
            return (
                visible: UInt(visible), stride: UInt(strides[index]),
                rows: UInt(format.planeHeight(index, height: height))
            )
        }
        for second in places.indices {
            for first in places.indices.prefix(second) {
                let (lower, upper) = places[first] <= places[second] ? (first, second) : (second, first)
                let distance = places[upper] - places[lower]
                let (above, below) = (shapes[lower], shapes[upper])
                if distance >= (above.rows - 1) * above.stride + above.visible { continue }
                let place = distance % above.stride
                let isInTurns = place >= above.visible && place + below.visible <= above.stride
                guard above.stride == below.stride, isInTurns else {
                    throw TurboJPEGError(
                        .overlappingPlanes,
                        "planes \(first) and \(second) of the image of \(width)x\(height) \(format.rawValue) share samples"
                    )
                }
            }
        }
    }
}

extension TurboJPEGError {
    fileprivate static func invalidStride(_ stride: Int, needed: Int) -> Self {
        Self(
            .invalidStride,
            "invalid stride of \(stride) bytes: a row needs \(needed), and the library allows at most \(Int32.max)"
        )
    }
}
