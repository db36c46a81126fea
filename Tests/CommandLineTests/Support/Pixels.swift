import Foundation
import FrameSocket
import TestSupport

extension Workplace {
    /// The pixels of a JPEG, as djpeg decodes it: red, green and blue, or gray.
    func djpeg(_ path: String, _ options: String...) async throws -> [UInt8] {
        let djpeg = try Places.tool("djpeg")
        let ending = try await start(djpeg, ["-dct", "int", "-pnm"] + options + [path]).ended()
        guard ending.status == 0 else { throw Program.Failure(description: "djpeg: \(ending)") }
        // Behind a head of three lines.
        var rest = ending.output[...]
        for _ in 0..<3 { rest = rest.drop { $0 != UInt8(ascii: "\n") }.dropFirst() }
        return Array(rest)
    }
}

/// The peak signal-to-noise ratio of two images in dB; infinite if they are equal, 0 if their sizes differ.
func peakSignalToNoiseRatio(_ one: [UInt8], _ other: [UInt8]) -> Double {
    guard one.count == other.count, !one.isEmpty else { return 0 }
    var sum = 0
    for index in one.indices {
        let difference = Int(one[index]) - Int(other[index])
        sum += difference * difference
    }
    return 10 * log10(255 * 255 * Double(one.count) / Double(sum))
}

extension [UInt8] {
    /// The pieces of `count` bytes; the last one may be shorter.
    func pieces(of count: Int) -> [[UInt8]] {
        stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
    }

    /// The bytes followed by zeros, up to the smallest size with which existing Jitsi receivers work.
    var padded: [UInt8] {
        self + [UInt8](repeating: 0, count: Swift.max(0, 10_240 - count))
    }
}

/// A message as existing Jitsi senders write it, of the size that most of the fixtures have.
func message(_ body: [UInt8], width: Int = 451, height: Int = 300, orientation: Int = 1) -> [UInt8] {
    TestSupport.message(body, width: width, height: height, orientation: orientation)
}

/// A JPEG of noise, several times what a socket's buffer holds.
func largeJPEG(seed: UInt64) throws -> [UInt8] {
    var random = SplitMix(seed: seed)
    let pixels = (0..<500 * 500 * 3).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    let image = try PixelBuffer(copying: pixels.span, width: 500, height: 500, format: .rgb)
    return try JPEGEncoder(quality: 100, subsampling: .yuv444).encode(image)
}
