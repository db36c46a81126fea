import Synchronization
import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

/// Images that no codec can take: a typed error before any memory is taken or read.
@Suite(.tags(.computes)) struct ImpossibleImageTests {
    /// Sizes that no JPEG has.
    static let sizes = [
        (0, 5), (5, 0), (0, 0), (-1, 5), (5, -1), (65_501, 1), (1, 65_501), (65_536, 65_536), (Int.max, Int.max),
        (Int.min, 1), (1 << 32 + 8, 8), (8, 1 << 32 + 8),
    ]

    @Test(arguments: PixelFormat.allCases, sizes)
    func `a size that no JPEG can have is refused everywhere`(format: PixelFormat, size: (Int, Int)) throws {
        let (width, height) = size
        let pool = PixelBuffer.Pool()
        let bytes = [UInt8](repeating: 0, count: 64)
        let codes = [
            errorCode { () throws(TurboJPEGError) in
                _ = try PixelBuffer(width: width, height: height, format: format)
            },
            errorCode { () throws(TurboJPEGError) in
                _ = try PixelBuffer(width: width, height: height, format: format, bytesPerRow: 64, zeroFilled: true)
            },
            errorCode { () throws(TurboJPEGError) in
                _ = try pool.buffer(width: width, height: height, format: format)
            },
            errorCode { () throws(TurboJPEGError) in
                _ = try PixelBuffer(copying: bytes.span, width: width, height: height, format: format)
            },
            errorCode { () throws(TurboJPEGError) in
                _ = try JPEGEncoder().maximumByteCount(width: width, height: height)
            },
            adoptingCode([(0, 64), (8, 64), (16, 64)], width, height, format),
        ]
        #expect(codes == Array(repeating: .invalidSize, count: codes.count))
        #expect(pool.allocatedCount == 0)
    }

    @Test(arguments: PixelFormat.allCases, [8, 65_500])
    func `rows that are shorter than their samples are rejected`(format: PixelFormat, width: Int) throws {
        let bytes = [UInt8](repeating: 0, count: 1024)
        for stride in [-64, 0, 1, width * format.bytesPerPixel - 1, Int(Int32.max) + 1, .max, .min] {
            let made = errorCode { () throws(TurboJPEGError) in
                _ = try PixelBuffer(width: width, height: 8, format: format, bytesPerRow: stride)
            }
            let copied = errorCode { () throws(TurboJPEGError) in
                let span = bytes.span
                _ = try PixelBuffer(copying: span, width: width, height: 8, format: format, bytesPerRow: stride)
            }
            #expect([made, copied] == [.invalidStride, .invalidStride], "\(stride)")
            for plane in 0..<format.planeCount {
                var planes = [(0, 1 << 18), (1 << 22, 1 << 18), (1 << 23, 1 << 18)]
                planes[plane].1 = plane == 0 ? stride : min(stride, width / 2 - 1)
                #expect(adoptingCode(planes, width, 8, format) == .invalidStride, "\(stride), plane \(plane)")
            }
        }
    }

    /// Planes of an image of 16x8, by the offset and the stride of each, and whether they share samples.
    static let layouts: [(format: PixelFormat, planes: [(Int, Int)], overlaps: Bool)] = [
        (.i420, [(0, 16), (128, 8), (160, 8)], false), (.i420, [(64, 16), (32, 8), (0, 8)], false),
        (.i420, [(0, 16), (127, 8), (160, 8)], true), (.i420, [(0, 16), (128, 8), (159, 8)], true),
        (.i420, [(0, 16), (128, 8), (128, 8)], true), (.i420, [(0, 16), (0, 16), (0, 16)], true),
        // Both kinds of chroma side by side in rows of one stride, or behind the luma of each row.
        (.i420, [(0, 16), (128, 16), (136, 16)], false), (.i420, [(0, 16), (128, 16), (135, 16)], true),
        (.i420, [(0, 32), (16, 32), (24, 32)], false), (.i420, [(0, 32), (16, 32), (23, 32)], true),
        (.i420, [(0, 32), (15, 32), (24, 32)], true),
        // Strides that differ: every row would have to be compared, and nobody lays planes out like that.
        (.i420, [(0, 64), (16, 128), (24, 128)], true),
        (.nv12, [(0, 16), (128, 16)], false), (.nv12, [(64, 16), (0, 16)], false), (.nv12, [(0, 16), (127, 16)], true),
        (.nv12, [(0, 32), (16, 32)], false), (.nv12, [(0, 32), (17, 32)], true), (.nv12, [(16, 32), (0, 32)], false),
    ]

    @Test(arguments: layouts)
    func `planes that share samples are rejected, and interleaved planes are not`(
        layout: (format: PixelFormat, planes: [(Int, Int)], overlaps: Bool)
    ) {
        let code = adoptingCode(layout.planes, 16, 8, layout.format)
        #expect(code == (layout.overlaps ? .overlappingPlanes : nil))
    }

    @Test func `planes are counted`() {
        #expect(adoptingCode([], 8, 8, .i420) == .byteCountMismatch)
        #expect(adoptingCode([(0, 64), (1024, 64)], 8, 8, .i420) == .byteCountMismatch)
    }

    /// The error of an image over memory that nobody may touch; it is released once if the image was made, and never if not.
    private func adoptingCode(_ planes: [(Int, Int)], _ width: Int, _ height: Int, _ format: PixelFormat)
        -> TurboJPEGError.Code?
    {
        let releases = Counter()
        // An address of the kernel's: reading it would end the process.
        let code = errorCode { () throws(TurboJPEGError) in
            let base = unsafe UnsafePointer<UInt8>(bitPattern: UInt(bitPattern: Int.min))
            guard let base = unsafe base else { return }
            _ = unsafe try PixelBuffer(
                adopting: planes.prefix(format.planeCount).map { unsafe (base + $0.0, $0.1) },
                width: width,
                height: height,
                format: format
            ) { releases.increment() }
        }
        #expect(releases.value == (code == nil ? 1 : 0))
        return code
    }
}
