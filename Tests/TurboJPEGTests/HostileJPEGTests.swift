import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct HostileJPEGTests {
    @Test func `every prefix of a JPEG is an error`() throws {
        let decoder = JPEGDecoder()
        var codes: Set<TurboJPEGError.Code> = []
        for count in 0..<HostileJPEG.good.count {
            let prefix = Array(HostileJPEG.good.prefix(count))
            let code = errorCode { () throws(TurboJPEGError) in _ = try decoder.decode(bytes: prefix, as: .i420) }
            codes.insert(try #require(code, "\(count) bytes"))
        }
        #expect(codes == [.notJPEG, .truncated])
    }

    @Test(arguments: [
        (10, Int.max, 10, 10, true), (9, .max, 10, 1, false), (.max, 100, 10, 10, true), (.max, 99, 10, 10, false),
    ])
    func `limits hold exactly`(dimension: Int, pixels: Int, width: Int, height: Int, isAccepted: Bool) throws {
        var decoder = JPEGDecoder()
        decoder.limits.maximumDimension = dimension
        decoder.limits.maximumPixels = pixels
        let jpeg = try JPEGEncoder().encode(testImage(width, height))
        let code = errorCode { () throws(TurboJPEGError) in _ = try decoder.decode(bytes: jpeg, as: .rgb) }
        #expect(code == (isAccepted ? nil : .tooLarge))
        let double = try #require(JPEGDecoder.ScalingFactor.allSupported.first { $0.description == "2/1" })
        let scaled = errorCode { () throws(TurboJPEGError) in
            _ = try decoder.decode(bytes: jpeg, as: .rgb, scale: double)
        }
        #expect(scaled == .tooLarge)
    }

    @Test func `changed bytes never trap`() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix(seed: seed)
        let decoder = JPEGDecoder()
        let formats: [PixelFormat] = [.bgra, .i420, .nv12, .gray]
        var failures = 0
        for round in 0..<2_000 {
            var bytes = HostileJPEG.good
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            let code = errorCode { () throws(TurboJPEGError) in
                _ = try decoder.decode(bytes: bytes, as: formats[round % 4], scale: round % 3 == 0 ? .half : .full)
            }
            failures += code == nil ? 0 : 1
        }
        #expect(failures > 100, "seed \(seed): changes have to be noticed at times")
        let expected = try JPEGDecoder().decode(bytes: HostileJPEG.good, as: .bgra)
        #expect(try decoder.decode(bytes: HostileJPEG.good, as: .bgra).hasSamePixels(as: expected))
    }
}
