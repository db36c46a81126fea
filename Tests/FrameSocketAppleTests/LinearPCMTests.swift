import FrameSocket
import Testing

@testable import FrameSocketApple

/// Sound as Core Audio describes it, made into blocks.
@Suite struct LinearPCMTests {
    private let stereo = LinearPCM(
        sampleRate: 44_100,
        channels: 2,
        bitsPerChannel: 16,
        isSignedInteger: true,
        isBigEndian: true,
        isInterleaved: true
    )

    @Test(arguments: [true, false]) func `samples of either byte order keep their values`(isBigEndian: Bool) throws {
        let samples: [Int16] = [0, 1, -1, 256, -256, .max, .min, 0x1234]
        let bytes = samples.flatMap { sample -> [UInt8] in
            let bits = UInt16(bitPattern: sample)
            let (high, low) = (UInt8(bits >> 8), UInt8(bits & 0xFF))
            return isBigEndian ? [high, low] : [low, high]
        }
        var layout = stereo
        layout.isBigEndian = isBigEndian
        let block = try layout.block(of: bytes.span, .microphone, timestamp: 77)
        #expect(block.samples == samples)
        #expect(block.timestamp == 77 && block.kind == .microphone)
        #expect(block.format == (try AudioBlock.Format(sampleRate: 44_100, channels: 2)))
    }

    /// Changes of the layout that must be refused.
    private static let refused: [(String, @Sendable (inout LinearPCM) -> Void)] = [
        ("floating point", { $0.isSignedInteger = false }),
        ("32 bits", { $0.bitsPerChannel = 32 }),
        ("planar", { $0.isInterleaved = false }),
        ("six channels", { $0.channels = 6 }),
        ("no channel", { $0.channels = 0 }),
        ("half a hertz", { $0.sampleRate = 44_100.5 }),
        ("no rate", { $0.sampleRate = .nan }),
        ("rate without end", { $0.sampleRate = .infinity }),
        ("4 kHz", { $0.sampleRate = 4_000 }),
    ]

    @Test(arguments: refused.indices) func `a format that cannot be sent is rejected`(index: Int) {
        let (name, change) = Self.refused[index]
        var layout = stereo
        change(&layout)
        let bytes: [UInt8] = [0, 0, 0, 0]
        let error = #expect(throws: AudioError.self, "\(name)") {
            try layout.block(of: bytes.span, .app, timestamp: nil)
        }
        #expect(error?.code == .unsupportedFormat, "\(name)")
    }

    @Test(arguments: [1, 2, 3, 5], [true, false])
    func `bytes that are not whole frames are rejected`(count: Int, isBigEndian: Bool) {
        var layout = stereo
        layout.isBigEndian = isBigEndian
        let bytes = [UInt8](repeating: 1, count: count)
        let error = #expect(throws: AudioError.self) { try layout.block(of: bytes.span, .app, timestamp: nil) }
        #expect(error?.code == .incompleteFrame)
    }

    @Test func `a single channel may be in a plane of its own`() throws {
        var layout = stereo
        (layout.channels, layout.isInterleaved) = (1, false)
        let bytes: [UInt8] = [0x12, 0x34]
        #expect(try layout.block(of: bytes.span, .app, timestamp: nil).samples == [0x1234])
    }
}
