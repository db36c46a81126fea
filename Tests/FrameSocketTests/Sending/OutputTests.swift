import FrameSocket
import TestDescriptions
import TestSupport
import Testing

@Suite(.tags(.computes)) struct OutputTests {
    @Test(
        arguments: [
            SampleUploader.OutputScale.full, .half, .fraction(numerator: .max, denominator: .max), .width(100),
            .fit(width: 100, height: 100), .letterbox(width: 100, height: 100), .fill(width: 100, height: 100),
            .fit(width: 100, height: .max), .letterbox(width: .max, height: .max), .fill(width: .max, height: .max),
        ],
        [Int.min, -1, 0, 1, 65_500, 65_501, .max]
    )
    func `the size that is sent is that of an image, whatever is asked`(scale: SampleUploader.OutputScale, side: Int) {
        for (width, height) in [(side, side), (side, 100), (100, side)] {
            let size = scale.size(forWidth: width, height: height)
            #expect(1...65_500 ~= size.width && 1...65_500 ~= size.height, "\(width)x\(height) becomes \(size)")
        }
    }

    struct Case: CustomTestStringConvertible {
        let scale: SampleUploader.OutputScale
        let image: (Int, Int)
        /// x, y, width, height.
        let part: (Int, Int, Int, Int)
        let scaled: (Int, Int)
        let canvas: (Int, Int)
        var orientation = FrameOrientation.up
        var subsampling = ChromaSubsampling.yuv420
        var appliesOrientation = false
        var testDescription: String { "\(scale.testDescription) of \(image.0)x\(image.1) \(orientation)" }

        /// Where all of an image is sent, and the canvas is as large as the scaled image, they need not be said.
        init(
            _ scale: SampleUploader.OutputScale,
            _ image: (Int, Int),
            _ scaled: (Int, Int),
            _ canvas: (Int, Int)? = nil,
            part: (Int, Int, Int, Int)? = nil,
            orientation: FrameOrientation = .up,
            subsampling: ChromaSubsampling = .yuv420,
            appliesOrientation: Bool = false
        ) {
            (self.scale, self.image, self.scaled) = (scale, image, scaled)
            self.part = part ?? (0, 0, image.0, image.1)
            (self.canvas, self.orientation, self.subsampling) = (canvas ?? scaled, orientation, subsampling)
            self.appliesOrientation = appliesOrientation
        }
    }

    static let fractions = [
        Case(.full, (1125, 2436), (1125, 2436)),
        Case(.half, (1125, 2436), (562, 1218), part: (0, 0, 1124, 2436)),
        Case(.half, (1, 1), (1, 1)),
        Case(.half, (1170, 2532), (585, 1266)),
        Case(.fraction(numerator: 3, denominator: 4), (101, 99), (75, 74)),
        Case(.fraction(numerator: 0, denominator: 4), (101, 99), (101, 99)),
        Case(.fraction(numerator: 4, denominator: 3), (101, 99), (101, 99)),
        Case(.fraction(numerator: .max, denominator: 1), (101, 99), (101, 99)),
        Case(.fraction(numerator: .max, denominator: .max), (101, 99), (101, 99)),
        Case(.fraction(numerator: .max - 1, denominator: .max), (101, 99), (100, 98)),
        Case(.fraction(numerator: -1, denominator: -2), (101, 99), (101, 99)),
        Case(.fraction(numerator: .min, denominator: 1), (101, 99), (101, 99)),
    ]

    static let fits = [
        Case(.fit(width: 1280, height: 720), (1920, 1080), (1280, 720)),
        // The box lies as the image does.
        Case(.fit(width: 1280, height: 720), (1080, 1920), (720, 1280)),
        Case(.fit(width: 1280, height: 720, rotation: .never), (1080, 1920), (406, 720)),
        Case(.fit(width: 720, height: 1280, rotation: .landscape), (1080, 1920), (406, 720)),
        Case(.fit(width: 1280, height: 720, rotation: .portrait), (1920, 1080), (720, 406)),
        // Never larger; an odd column is cut.
        Case(.fit(width: 1280, height: 720), (641, 361), (640, 360), part: (0, 0, 640, 360)),
        Case(.fit(width: 1280, height: 720), (641, 361), (641, 361), subsampling: .yuv444),
        Case(.fit(width: 1280, height: 720), (641, 361), (640, 361), part: (0, 0, 640, 361), subsampling: .yuv422),
        Case(.fit(width: 1280, height: 720), (643, 361), (640, 361), part: (0, 0, 640, 361), subsampling: .yuv411),
        Case(.fit(width: 1280, height: 720), (1125, 2436), (592, 1280)),
        Case(.fit(width: 101, height: 101), (1000, 1000), (100, 100)),
        Case(.fit(width: 100, height: 100), (60_000, 1), (100, 1)),
        Case(.fit(width: 1, height: 1), (100, 100), (1, 1)),
        Case(.fit(width: -5, height: .max), (100, 100), (100, 100)),
        // As a person sees it: 1920x1080 lying on its side is portrait, and so is the box.
        Case(.fit(width: 1280, height: 720, rotation: .landscape), (1920, 1080), (720, 406), orientation: .left),
        Case(.fit(width: 1280, height: 720), (1920, 1080), (1280, 720), orientation: .right),
        Case(
            .fit(width: 1280, height: 720),
            (643, 361),
            (642, 361),
            part: (0, 0, 642, 361),
            orientation: .left,
            subsampling: .yuv422
        ),
        // Two pixels share chroma in a row of the JPEG, which is a column of the buffer if the image is turned first.
        Case(
            .fit(width: 1280, height: 720),
            (643, 361),
            (643, 360),
            part: (0, 0, 643, 360),
            orientation: .left,
            subsampling: .yuv422,
            appliesOrientation: true
        ),
    ]

    static let kits = [
        Case(.width(720), (1920, 1080), (720, 406)),
        Case(.width(720), (1080, 2400), (720, 1600)),
        Case(.width(720), (640, 2400), (640, 2400)),
        Case(.width(720), (2400, 1080), (1600, 720), orientation: .left),
        Case(.width(1), (100, 100), (1, 2)),
        Case(.width(101), (400, 200), (202, 101), orientation: .left, subsampling: .yuv422),
        Case(.width(101), (400, 200), (200, 100), orientation: .left, subsampling: .yuv422, appliesOrientation: true),
        // As Agora sends. Portrait: 16w <= 9h gives (640w/h, 640), else (360, 360h/w).
        Case(.fit(width: 640, height: 360), (1080, 1920), (360, 640)),
        Case(.fit(width: 640, height: 360), (1125, 2436), (296, 640)),
        Case(.fit(width: 640, height: 360), (1536, 2048), (360, 480)),
        Case(.fit(width: 640, height: 360), (1000, 1000), (360, 360)),
        // Landscape: 9w <= 16h gives (360w/h, 360), else (640, 640h/w).
        Case(.fit(width: 640, height: 360), (1920, 1080), (640, 360)),
        Case(.fit(width: 640, height: 360), (2436, 1125), (640, 296)),
        Case(.fit(width: 640, height: 360), (2048, 1536), (480, 360)),
        Case(.fit(width: 640, height: 360), (320, 200), (320, 200)),
    ]

    static let boxes = [
        Case(.letterbox(width: 640, height: 480), (1920, 1080), (640, 360), (640, 480)),
        Case(.letterbox(width: 640, height: 480), (1080, 1920), (360, 640), (480, 640)),
        Case(.letterbox(width: 640, height: 480, rotation: .landscape), (1080, 1920), (270, 480), (640, 480)),
        Case(.letterbox(width: 640, height: 480), (100, 50), (100, 50), (640, 480)),
        // A canvas has the size that was asked for; the image on it reaches its sides, or has whole chroma samples.
        Case(.letterbox(width: 641, height: 481), (1920, 1080), (641, 360), (641, 481)),
        Case(.letterbox(width: 101, height: 75), (101, 75), (101, 75), (101, 75)),
        Case(.letterbox(width: 101, height: 75), (202, 150), (101, 75), (101, 75)),
        Case(.letterbox(width: 101, height: 75), (101, 31), (101, 30), (101, 75), part: (0, 0, 101, 30)),
        Case(.letterbox(width: 101, height: 75), (61, 47), (60, 46), (101, 75), part: (0, 0, 60, 46)),
        Case(.letterbox(width: 101, height: 75), (61, 47), (61, 47), (101, 75), subsampling: .yuv444),
        Case(.letterbox(width: 101, height: 75), (1920, 1080), (101, 56), (101, 75), orientation: .left),
        Case(
            .letterbox(width: 100, height: 75),
            (47, 61),
            (47, 60),
            (75, 100),
            part: (0, 0, 47, 60),
            orientation: .left,
            subsampling: .yuv422,
            appliesOrientation: true
        ),
        Case(.fill(width: 101, height: 75), (1920, 1080), (101, 75), part: (232, 0, 1454, 1080)),
        Case(.fill(width: 101, height: 75), (64, 48), (64, 46), part: (0, 0, 64, 46)),
        Case(.fill(width: 640, height: 480), (1920, 1080), (640, 480), part: (240, 0, 1440, 1080)),
        Case(.fill(width: 640, height: 480), (1080, 1920), (480, 640), part: (0, 240, 1080, 1440)),
        Case(.fill(width: 640, height: 480, rotation: .landscape), (1080, 1920), (640, 480), part: (0, 554, 1080, 810)),
        // A smaller image fills the box's shape.
        Case(.fill(width: 1600, height: 1200), (800, 450), (600, 450), part: (100, 0, 600, 450)),
        Case(.fill(width: 640, height: 480), (640, 480), (640, 480)),
        Case(.fill(width: 480, height: 640), (1920, 1080), (640, 480), part: (240, 0, 1440, 1080), orientation: .right),
    ]

    @Test(arguments: fractions + fits + kits + boxes)
    func `a plan has the expected part, size and canvas`(_ expected: Case) {
        let plan = expected.scale.plan(
            forWidth: expected.image.0,
            height: expected.image.1,
            orientation: expected.orientation,
            appliesOrientation: expected.appliesOrientation,
            subsampling: expected.subsampling
        )
        #expect((plan.part.x, plan.part.y, plan.part.width, plan.part.height) == expected.part)
        #expect((plan.scaled.width, plan.scaled.height) == expected.scaled)
        #expect((plan.canvas.width, plan.canvas.height) == expected.canvas)
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `every plan is within its image and its canvas`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        func side() -> Int { Int.random(in: 1...(1 << Int.random(in: 1...15, using: &random)), using: &random) }
        for _ in 0..<3000 {
            let (width, height) = (side(), side())
            let turning = SampleUploader.OutputScale.Rotation.allCases.randomElement(using: &random) ?? .never
            let scale =
                [
                    SampleUploader.OutputScale.full, .half, .width(side()),
                    .fit(width: side(), height: side(), rotation: turning),
                    .letterbox(width: side(), height: side(), rotation: turning),
                    .fill(width: side(), height: side(), rotation: turning),
                ].randomElement(using: &random) ?? .full
            let orientation = FrameOrientation.allCases.randomElement(using: &random) ?? .up
            let plan = scale.plan(forWidth: width, height: height, orientation: orientation)
            let what: Comment = "seed \(seed): \(scale) of \(width)x\(height) \(orientation)"
            let (part, place) = (plan.part, plan.place)
            #expect(part.x >= 0 && part.y >= 0 && part.width >= 1 && part.height >= 1, what)
            #expect(part.x + part.width <= width && part.y + part.height <= height, what)
            #expect(plan.scaled.width <= part.width && plan.scaled.height <= part.height, what)
            #expect(place.x >= 0 && place.y >= 0 && place.x % 2 == 0 && place.y % 2 == 0, what)
            #expect(place.x + place.width <= plan.canvas.width && place.y + place.height <= plan.canvas.height, what)
            #expect(part.x % 2 == 0 && part.y % 2 == 0, what)
            if case .box(let box) = scale.form, box.mode != .fit {
                // The box is that of the upright image.
                let isTurned = orientation.swapsAxes
                let upright = isTurned ? BufferSize(width: height, height: width) : plan.image
                let size = box.size(for: upright)
                let exact = isTurned ? BufferSize(width: size.height, height: size.width) : size
                let isCovered = width >= exact.width && height >= exact.height
                #expect(plan.canvas == exact || box.mode == .fill && !isCovered, what)
            }
            // The pixels have the size of the plan.
            let size = plan.sizeOfResult(for: width, height)
            #expect(size == plan.canvas, what)
        }
    }
}

extension OutputPlan {
    /// The size of the image that the plan makes, where that is small enough to try.
    fileprivate func sizeOfResult(for width: Int, _ height: Int) -> BufferSize {
        guard width * height <= 4096 else { return canvas }
        guard canvas.width * canvas.height <= 1 << 20 else { return canvas }
        guard let image = try? PixelBuffer(width: width, height: height, format: .gray, zeroFilled: true),
            let result = try? image.applying(self)
        else { return BufferSize(width: 0, height: 0) }
        return BufferSize(width: result.width, height: result.height)
    }
}
