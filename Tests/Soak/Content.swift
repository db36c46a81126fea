import FrameSocket
import TestSupport

/// What peers send, so that a receiver can see whether it is whole: the time stamp is a hash of the body.
enum Content {
    /// FNV-1a over the words of a body, and over its last bytes.
    static func hash(_ bytes: Span<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        unsafe bytes.withUnsafeBytes { bytes in
            let words = bytes.count / 8
            for index in 0..<words {
                hash =
                    unsafe (hash ^ bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self)) &* 0x100_0000_01B3
            }
            for index in 8 * words..<bytes.count {
                hash = unsafe (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3
            }
        }
        return hash
    }

    /// `count` bytes that follow from the generator.
    static func bytes(_ count: Int, _ random: inout SplitMix) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let memory = UnsafeMutableRawBufferPointer(buffer)
            for index in 0..<count / 8 {
                unsafe memory.storeBytes(of: random.next(), toByteOffset: 8 * index, as: UInt64.self)
            }
            for index in count / 8 * 8..<count { unsafe memory[index] = UInt8(truncatingIfNeeded: random.next()) }
            filled = count
        }
    }

    /// A frame whose receiver can check it; `isDoomed` says that its sender may be killed.
    static func frame(_ bytes: [UInt8], sequence: UInt64, isDoomed: Bool) -> FrameMessage {
        FrameMessage(
            jpeg: FrameBytes(bytes),
            info: FrameInfo(
                bufferSize: BufferSize(width: isDoomed ? doomedWidth : 1, height: 1),
                timestamp: hash(bytes.span),
                sequence: sequence
            )
        )
    }

    /// The width that a sender states which may be killed.
    static let doomedWidth = 2

    /// The orientation that a sender in shared memory states which may be killed.
    static let doomedOrientation = FrameOrientation.upMirrored

    /// The size of an image.
    static func size(_ random: inout SplitMix) -> (width: Int, height: Int) {
        (.random(in: 16...640, using: &random), .random(in: 16...480, using: &random))
    }

    /// Draws an image whose rows are all the same, and returns the hash of each of them.
    static func fill(_ image: inout PixelBuffer, _ random: inout SplitMix) throws(TurboJPEGError) -> UInt64 {
        let row = bytes(image.width * 4, &random)
        for y in 0..<image.height {
            try image.withMutableRow(y) { target in
                for index in row.indices { target[index] = row[index] }
            }
        }
        return hash(row.span)
    }

    /// Whether all rows have this hash.
    static func isWhole(_ image: PixelBuffer, hash: UInt64) -> Bool {
        (0..<image.height).allSatisfy { row in image.withRow(row) { self.hash($0) } == hash }
    }

    /// An image that no other is like.
    static func image(_ random: inout SplitMix) throws(TurboJPEGError) -> PixelBuffer {
        let (width, height) = size(&random)
        let row = bytes(width * 3, &random)
        var pixels: [UInt8] = []
        pixels.reserveCapacity(row.count * height)
        for _ in 0..<height { pixels += row }
        return try PixelBuffer(copying: pixels.span, width: width, height: height, format: .rgb)
    }

    /// A JPEG that is cut, or has wrong bytes, a wrong size, or something behind its end.
    static func poisonJPEG(_ random: inout SplitMix) throws(TurboJPEGError) -> [UInt8] {
        let image = try image(&random)
        var jpeg = try JPEGEncoder(quality: 60).encode(image)
        switch random.next() % 5 {
        case 0:
            jpeg.removeLast(Int.random(in: 1..<jpeg.count, using: &random))
        case 1:
            for _ in 0..<20 { jpeg[Int.random(in: 0..<jpeg.count, using: &random)] = UInt8(random.next() & 0xFF) }
        case 2:
            if let start = jpeg.indices.dropLast(9).first(where: { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 }) {
                for index in start + 5..<start + 9 { jpeg[index] = 0xFF }
            }
        case 3:
            jpeg += bytes(1000, &random)
        default:
            jpeg = bytes(jpeg.count, &random)
        }
        return jpeg
    }

    /// A message without the fields by which a receiver checks it.
    static func message(_ body: [UInt8], claiming length: Int? = nil, width: Int = 64, height: Int = 64) -> [UInt8] {
        Array(
            """
            HTTP/1.1 200 OK\r
            Content-Length: \(length ?? body.count)\r
            Buffer-Width: \(width)\r
            Buffer-Height: \(height)\r
            Buffer-Orientation: 1\r
            \r

            """.utf8
        ) + body
    }
}
