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

    /// A JPEG that must not be decoded, or has wrong bytes.
    static func poisonJPEG(_ random: inout SplitMix) -> [UInt8] {
        if random.next() % 3 > 0 { return HostileJPEG.all.randomElement(using: &random)?.bytes ?? [] }
        var jpeg = HostileJPEG.good
        for _ in 0..<20 { jpeg[Int.random(in: 0..<jpeg.count, using: &random)] = UInt8(random.next() & 0xFF) }
        return jpeg
    }
}
