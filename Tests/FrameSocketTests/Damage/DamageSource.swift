import FrameWire
import TestSupport

@testable import FrameSocket
@testable import TurboJPEG

/// A screen that changes at random, and says where.
struct DamageSource {
    private(set) var screen: PixelBuffer
    private(set) var orientation = FrameOrientation.up
    /// Where the screen has changed since its image was submitted last.
    private var changes: [PixelBuffer.Rectangle] = []

    init(_ random: inout SplitMix) throws {
        screen = try Self.screen(&random)
    }

    private static func screen(_ random: inout SplitMix) throws -> PixelBuffer {
        let width = Int.random(in: 1...150, using: &random)
        let height = Int.random(in: 1...180, using: &random)
        let format = PixelFormat.allCases.randomElement(using: &random) ?? .bgra
        let seed = random.next()
        return try PixelBuffer(width: width, height: height, format: format) { plane, x, y in
            UInt8(truncatingIfNeeded: (x / 7 + 3 * (y / 5) + plane) &* Int(seed % 251))
        }
    }

    /// Another size or format: what changed is not to be known any longer.
    mutating func resize(_ random: inout SplitMix) throws {
        screen = try Self.screen(&random)
        changes = []
    }

    mutating func turn(_ random: inout SplitMix) {
        orientation = FrameOrientation.allCases.randomElement(using: &random) ?? .up
    }

    /// Changes a part of the screen.
    mutating func draw(_ random: inout SplitMix) throws {
        let x = Int.random(in: 0..<screen.width, using: &random)
        let y = Int.random(in: 0..<screen.height, using: &random)
        let width = Int.random(in: 1...min(40, screen.width - x), using: &random)
        let height = Int.random(in: 1...min(40, screen.height - y), using: &random)
        changes.append(.init(x: x, y: y, width: width, height: height))
        // The images that were submitted stay as they are.
        for plane in 0..<screen.planeCount {
            let (factor, size) = (plane == 0 ? 1 : 2, screen.plane(plane).bytesPerSample)
            for row in y / factor..<(y + height + factor - 1) / factor {
                let columns = size * (x / factor)..<size * ((x + width + factor - 1) / factor)
                try screen.withMutableRow(row, ofPlane: plane) { bytes in
                    for column in columns { bytes[column] = UInt8.random(in: 0...255, using: &random) }
                }
            }
        }
    }

    /// Returns rectangles that contain every change, or nil, and forgets the changes.
    mutating func takeDamage(_ random: inout SplitMix) -> [PixelBuffer.Rectangle]? {
        defer { changes = [] }
        if Int.random(in: 0..<12, using: &random) == 0 { return nil }
        var damage: [PixelBuffer.Rectangle] = []
        for change in changes {
            let margin = Int.random(in: 0...5, using: &random)
            var (first, second) = (change, change)
            first.width = Int.random(in: 0...change.width, using: &random)
            (second.x, second.width) = (change.x + first.width, change.width - first.width)
            (first.x, first.width) = (first.x - margin, first.width + margin)
            (second.y, second.height) = (second.y - margin, second.height + 2 * margin)
            damage += [first, second]
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
            damage.append(.init(x: .min, y: -3, width: .max, height: 2))
            damage.append(.init(x: screen.width, y: .max, width: .max, height: -1))
        }
        return damage.shuffled(using: &random)
    }
}
