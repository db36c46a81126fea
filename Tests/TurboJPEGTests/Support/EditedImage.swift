import Foundation
import TestSupport
import TurboJPEG

/// An image in which rectangles change at random, as on a screen.
struct EditedImage {
    private(set) var image: PixelBuffer
    private var random: SplitMix

    init(_ width: Int, _ height: Int, as format: PixelFormat, seed: UInt64) throws {
        image = try PixelBuffer(width: width, height: height, format: format, zeroFilled: true)
        random = SplitMix(seed: seed)
        for _ in 0..<6 { try change() }
    }

    /// Changes nothing, some rectangles, or, now and then, all.
    mutating func edit() throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: break
        case 1:
            for _ in 0..<4 { try change() }
            try fill(0..<image.width, 0..<image.height)
        case let times: for _ in 0..<(times % 3 + 1) { try change() }
        }
    }

    /// Changes a rectangle, most of them small.
    private mutating func change() throws {
        let isSmall = Bool.random(using: &random)
        let width = Int.random(in: 1...max(1, image.width / (isSmall ? 8 : 1)), using: &random)
        let height = Int.random(in: 1...max(1, image.height / (isSmall ? 16 : 2)), using: &random)
        let x = Int.random(in: 0...(image.width - width), using: &random)
        let y = Int.random(in: 0...(image.height - height), using: &random)
        try fill(x..<(x + width), y..<(y + height))
    }

    /// Fills a rectangle with a colour, with stripes, or with noise, in every plane.
    private mutating func fill(_ columns: Range<Int>, _ rows: Range<Int>) throws {
        let kind = Int.random(in: 0..<4, using: &random)
        let value = UInt8.random(in: 0...255, using: &random)
        for index in 0..<image.planeCount {
            let shape = image.plane(index)
            let part = index == 0 ? 1 : 2
            let size = shape.bytesPerSample
            let bytes = (columns.lowerBound / part * size)..<min(shape.width, columns.upperBound / part) * size
            guard !bytes.isEmpty else { continue }
            for row in (rows.lowerBound / part)..<min(shape.height, (rows.upperBound + part - 1) / part) {
                var noise = SplitMix(seed: random.state &+ UInt64(row))
                var line = [value]
                switch kind {
                case 0: break
                case 1: for _ in 0..<37 { line.append(UInt8(truncatingIfNeeded: noise.next())) }
                case 2: for byte in 0..<23 { line.append(UInt8(truncatingIfNeeded: byte &* 31 &+ row &* 17)) }
                default: line = row % 6 < 3 ? [value] : [value, value, value, value, ~value, ~value, ~value, ~value]
                }
                let length = line.count
                try image.withMutableRow(row, ofPlane: index) { span in
                    unsafe span.withUnsafeMutableBufferPointer { target in
                        unsafe line.withUnsafeBufferPointer { line in
                            guard let start = target.baseAddress, let line = line.baseAddress
                            else { return }
                            for byte in stride(from: bytes.lowerBound, to: bytes.upperBound, by: length) {
                                let count = min(length, bytes.upperBound - byte)
                                _ = unsafe memcpy(start + byte, line, count)
                            }
                        }
                    }
                }
            }
        }
        random.state &+= 0x5851_F42D_4C95_7F2D
    }
}
