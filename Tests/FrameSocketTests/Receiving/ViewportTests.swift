import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import FrameTransport

/// Decoded images in a size of the receiver's choice: where they are, what is cropped, and which rows have changed.
@Suite(.timeLimit(.minutes(15))) struct ViewportTests {
    typealias Viewport = FrameDecoder.Viewport

    private func frame(of image: PixelBuffer, orientation: FrameOrientation = .up) throws -> Frame {
        let jpeg = try JPEGEncoder(quality: 95, subsampling: .yuv444).encode(image)
        return Frame(FrameBytes(jpeg), BufferSize(width: image.width, height: image.height), orientation)
    }

    // MARK: Places

    struct Place: CustomTestStringConvertible {
        let image: (Int, Int)
        let viewport: Viewport
        /// x, y, width, height in the image, and in the viewport.
        let part: [Int]
        let place: [Int]
        let format: PixelFormat
        var testDescription: String {
            "\(image.0)x\(image.1) \(viewport.mode) \(viewport.width)x\(viewport.height) \(format.rawValue)"
        }

        init(
            _ image: (Int, Int),
            _ mode: Viewport.Mode,
            _ size: (Int, Int),
            _ part: [Int],
            _ place: [Int],
            _ format: PixelFormat = .bgra
        ) {
            (self.image, self.part, self.place, self.format) = (image, part, place, format)
            viewport = Viewport(width: size.0, height: size.1, mode: mode)
        }
    }

    static let places = [
        Place((1920, 1080), .letterbox, (640, 480), [0, 0, 1920, 1080], [0, 60, 640, 360]),
        Place((320, 180), .letterbox, (640, 480), [0, 0, 320, 180], [0, 60, 640, 360]),
        Place((1080, 1920), .letterbox, (640, 480), [0, 0, 1080, 1920], [184, 0, 270, 480]),
        // 480 * 37 / 23 is 772.2; the other bar is wider by what the first is rounded down.
        Place((37, 23), .letterbox, (1001, 480), [0, 0, 37, 23], [114, 0, 772, 480]),
        Place((101, 75), .letterbox, (33, 65), [0, 0, 101, 75], [0, 20, 33, 25]),
        Place((101, 75), .letterbox, (33, 65), [0, 0, 101, 75], [0, 20, 33, 24], .i420),
        // Both sides fill the viewport, although these are no whole samples of chroma.
        Place((66, 50), .letterbox, (33, 25), [0, 0, 66, 50], [0, 0, 33, 25], .i420),
        Place((1, 1), .letterbox, (3, 2), [0, 0, 1, 1], [0, 0, 2, 2]),
        Place((1, 1), .letterbox, (3, 2), [0, 0, 1, 1], [0, 0, 2, 2], .nv12),
        Place((65_500, 1), .letterbox, (100, 100), [0, 0, 65_500, 1], [0, 48, 100, 1]),
        Place((65_500, 1), .letterbox, (100, 100), [0, 0, 65_500, 1], [0, 48, 100, 2], .i420),
        Place((1, 65_500), .letterbox, (100, 1), [0, 0, 1, 65_500], [48, 0, 1, 1]),
        Place((100, 100), .letterbox, (1, 1), [0, 0, 100, 100], [0, 0, 1, 1], .i420),
        Place((1920, 1080), .fit, (640, 480), [0, 0, 1920, 1080], [0, 0, 640, 360]),
        Place((320, 180), .fit, (640, 480), [0, 0, 320, 180], [0, 0, 640, 360]),
        Place((101, 75), .fit, (33, 65), [0, 0, 101, 75], [0, 0, 33, 25]),
        Place((101, 75), .fit, (33, 65), [0, 0, 101, 75], [0, 0, 32, 24], .i420),
        Place((65_500, 1), .fit, (100, 100), [0, 0, 65_500, 1], [0, 0, 100, 2], .i420),
        Place((1, 65_500), .fit, (1, 100), [0, 0, 1, 65_500], [0, 0, 1, 100], .nv12),
        Place((1920, 1080), .fill, (640, 480), [240, 0, 1440, 1080], [0, 0, 640, 480]),
        Place((320, 180), .fill, (640, 480), [40, 0, 240, 180], [0, 0, 640, 480]),
        Place((101, 75), .fill, (33, 65), [30, 0, 38, 75], [0, 0, 33, 65]),
        Place((1, 1), .fill, (65, 33), [0, 0, 1, 1], [0, 0, 65, 33], .i420),
        Place((65_500, 1), .fill, (1, 100), [32_748, 0, 1, 1], [0, 0, 1, 100]),
        Place((1920, 1080), .stretch, (31, 480), [0, 0, 1920, 1080], [0, 0, 31, 480]),
        Place((1, 65_500), .stretch, (100, 1), [0, 0, 1, 65_500], [0, 0, 100, 1], .nv12),
    ]

    /// Shows P336.
    @Test(arguments: places) func `each mode shows the expected part in the expected place`(_ expected: Place) throws {
        let image = try PixelBuffer(
            width: expected.image.0,
            height: expected.image.1,
            format: expected.format,
            zeroFilled: true
        )
        let plan = expected.viewport.plan(for: image)
        #expect([plan.part.x, plan.part.y, plan.part.width, plan.part.height] == expected.part)
        #expect([plan.place.x, plan.place.y, plan.place.width, plan.place.height] == expected.place)
        let result = try image.applying(plan)
        let isBarFree = expected.viewport.mode == .fit
        let whole = [0, 0, expected.viewport.width, expected.viewport.height]
        #expect([0, 0, result.width, result.height] == (isBarFree ? expected.place : whole))
    }

    /// Shows P336.
    @Test(arguments: [Int.min, -1, 0, 1, 65_500, 65_501, .max]) func `sides are clamped to those of an image`(side: Int)
    {
        let viewport = Viewport(width: side, height: side)
        #expect(viewport.width == min(max(side, 1), 65_500) && viewport.height == viewport.width)
        #expect(viewport.mode == .letterbox)
    }

    @Test func `a viewport with more pixels than an image may have is refused before anything is decoded`() throws {
        let decoder = FrameDecoder()
        let frame = try frame(of: PixelBuffer(width: 4, height: 2, format: .bgra, zeroFilled: true))
        for viewport in [Viewport(width: .max, height: .max), Viewport(width: 8193, height: 4096)] {
            let error = #expect(throws: TurboJPEGError.self) { try decoder.decode(frame, in: viewport) }
            #expect(error?.code == .invalidSize && error?.message.contains("viewport") == true)
        }
        #expect(try decoder.decode(frame, in: Viewport(width: 64, height: 64)).image.width == 64)
    }

    // MARK: Pixels

    /// An image of exactly the size is not copied, and any other has the size.
    ///
    /// Shows P336.
    @Test(arguments: PixelFormat.allCases, Viewport.Mode.allCases)
    func `a decoded image has the size of the viewport, in every format`(
        format: PixelFormat,
        mode: Viewport.Mode
    ) throws {
        let decoder = FrameDecoder()
        for (width, height) in [(64, 48), (37, 23), (1, 1), (1, 90), (90, 1)] {
            let frame = try frame(of: testImage(width, height))
            let plain = try decoder.decode(frame, as: format).image
            for size in [(64, 48), (31, 65), (1, 1), (2, 100), (100, 1)] {
                let viewport = Viewport(width: size.0, height: size.1, mode: mode)
                let image = try decoder.decode(frame, as: format, in: viewport).image
                #expect(image.format == format && image.width <= size.0 && image.height <= size.1)
                #expect(mode == .fit || (image.width, image.height) == size)
                #expect(try image.hasSamePixels(as: plain.applying(viewport.plan(for: plain))))
            }
            let same = Viewport(width: width, height: height, mode: mode)
            #expect(try decoder.decode(frame, as: format, in: same).image.hasSamePixels(as: plain))
        }
        let halved = try decoder.decode(
            frame(of: testImage(64, 48)),
            as: format,
            scale: .half,
            in: Viewport(width: 32, height: 24, mode: mode)
        ).image
        #expect((halved.width, halved.height) == (32, 24))
    }

    /// Upright images fill the viewport as the viewer sees them, others as they were sent.
    ///
    /// Shows P336.
    @Test(arguments: FrameOrientation.allCases, Viewport.Mode.allCases)
    func `the viewport is that of the image that is returned, rotated or not`(
        orientation: FrameOrientation,
        mode: Viewport.Mode
    ) throws {
        let frame = try frame(of: testImage(37, 23), orientation: orientation)
        let viewport = Viewport(width: 64, height: 20, mode: mode)
        let plain = try FrameDecoder().decode(frame).image
        let sent = try FrameDecoder().decode(frame, in: viewport)
        #expect(mode == .fit || (sent.image.width, sent.image.height) == (64, 20))
        #expect(sent.image.height == 20 && sent.orientation == orientation)
        #expect(try sent.image.hasSamePixels(as: plain.applying(viewport.plan(for: plain))))
        let seen = try FrameDecoder(isUpright: true).decode(frame, in: viewport)
        #expect(mode == .fit || (seen.image.width, seen.image.height) == (64, 20))
        #expect(seen.orientation == (!orientation.isUpright ? .up : orientation))
        let upright = try plain.upright(from: orientation)
        #expect(try seen.image.hasSamePixels(as: upright.applying(viewport.plan(for: upright))))
    }

    // MARK: Changed rows

    /// Rows that are not said to have changed are those of the image before, to the byte.
    ///
    /// Shows P117.
    @Test(arguments: Viewport.Mode.allCases, [PixelFormat.bgra, .i420])
    func `rows beside the changed ones are as before`(mode: Viewport.Mode, format: PixelFormat) throws {
        var random = SplitMix(seed: 11)
        for (width, side) in [(100, 40), (33, 65), (90, 411), (64, 700), (31, 1999)] {
            let viewport = Viewport(width: width, height: side, mode: mode)
            let (encoder, decoder, connection) = (FrameEncoder(), FrameDecoder(), DecodingTally(limit: 100) {})
            var image = try testImage(96, 640, as: .bgra)
            var last: PixelBuffer?
            var (height, least) = (side, side)
            for step in 0..<14 {
                if step % 4 != 3 {
                    let row = Int.random(in: 0..<640, using: &random)
                    try image.withMutableRow(row) { span in
                        for index in span.indices { span[index] = UInt8.random(in: 0...255, using: &random) }
                    }
                }
                let sent = try encoder.encode(.pixels(image), .up, .init())
                let frame = Frame(sent.jpeg, sent.bufferSize, of: connection)
                let decoded = try decoder.decode(frame, as: format, in: viewport)
                let whole = try FrameDecoder().decode(Frame(sent.jpeg, sent.bufferSize), as: format, in: viewport)
                    .image
                #expect(decoded.image.hasSamePixels(as: whole), "step \(step)")
                let rows = decoded.changedRows
                height = decoded.image.height
                #expect(zip(rows, rows.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }, "\(rows)")
                #expect(rows.allSatisfy { !$0.isEmpty && 0..<height ~= $0.lowerBound && $0.upperBound <= height })
                if let last {
                    if step % 4 == 3 { #expect(rows == [], "step \(step)") }
                    least = min(least, rows.reduce(0) { $0 + $1.count } + (rows.isEmpty ? height : 0))
                    let name = "step \(step) of \(width)x\(height): \(rows)"
                    #expect(decoded.image.differs(from: last, outside: rows) == nil, "\(name)")
                } else {
                    #expect(rows == [0..<height])
                }
                last = decoded.image
            }
            // One strip of forty has changed: not the whole image.
            #expect(height < 60 || least < height / 4, "\(least) of \(height) rows")
        }
    }

    /// Shows P117.
    @Test func `after a change of the viewport every row has changed`() throws {
        let (encoder, decoder, connection) = (FrameEncoder(), FrameDecoder(), DecodingTally(limit: 100) {})
        let image = try testImage(96, 640, as: .bgra)
        let small = Viewport(width: 48, height: 320)
        let steps: [(Viewport?, [Range<Int>])] = [
            (small, [0..<320]), (small, []), (nil, [0..<640]), (nil, []), (small, [0..<320]),
            (Viewport(width: 48, height: 320, mode: .fill), [0..<320]), (small, [0..<320]), (small, []),
        ]
        for (viewport, expected) in steps {
            let sent = try encoder.encode(.pixels(image), .up, .init())
            let decoded = try decoder.decode(Frame(sent.jpeg, sent.bufferSize, of: connection), in: viewport)
            #expect(decoded.changedRows == expected)
        }
    }
}

extension PixelBuffer {
    /// The first row that differs from another image's, besides the given ones; chroma rows are those of their pixels.
    fileprivate func differs(from other: PixelBuffer, outside rows: [Range<Int>]) -> Int? {
        for plane in 0..<planeCount {
            let factor = plane == 0 ? 1 : 2
            for y in 0..<self.plane(plane).height
            where !rows.contains(where: { $0.overlaps(y * factor..<(y + 1) * factor) }) {
                if row(y, ofPlane: plane) != other.row(y, ofPlane: plane) { return y * factor }
            }
        }
        return nil
    }
}
