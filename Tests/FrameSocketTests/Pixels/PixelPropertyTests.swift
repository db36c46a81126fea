import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

/// Images made from seeds, through every public path from pixels to pixels, against a slow and plain way of doing the same.
///
/// Their memory has rows of any distance and ends at a page that nobody may touch. A failure names its seed.
@Suite(.tags(.computes)) struct PixelPropertyTests {
    /// An image, and what else a seed decides.
    struct Case {
        let image: PixelBuffer
        let reference: ReferenceImage
        var random: SplitMix
        let isPlain: Bool

        /// Sides of interest: of blocks and tiles, and where fixed-point positions end.
        static let sides = [
            1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 127, 1_000, 16_384, 32_767, 32_768, 40_000, 65_499, 65_500,
        ]

        init(_ seed: UInt64, _ formats: [PixelFormat] = PixelFormat.allCases, pixels: Int = 66_000) throws {
            var random = SplitMix(seed: seed)
            let format = try #require(formats.randomElement(using: &random))
            let long =
                Bool.random(using: &random)
                ? try #require(Self.sides.randomElement(using: &random)) : Int.random(in: 1...400, using: &random)
            let short = Int.random(in: 1...max(1, min(300, pixels / long)), using: &random)
            let (width, height) = Bool.random(using: &random) ? (long, short) : (short, long)
            let padding = (0..<3).map { _ in [0, 1, 3, 13, 64].randomElement(using: &random) ?? 0 }
            // One value, a slope, or noise.
            let kind = Int.random(in: 0..<3, using: &random)
            var noise = random
            image = try unsafe GuardedImage.make(width: width, height: height, format: format, padding: padding) {
                row,
                y,
                plane in
                for index in row.indices {
                    unsafe row[index] =
                        switch kind {
                        case 0: UInt8(60 + 50 * plane)
                        case 1: UInt8((20 + 100 * index / row.count + 100 * y / height) & 255)
                        default: UInt8(truncatingIfNeeded: noise.next() >> 20)
                        }
                }
            }
            reference = ReferenceImage(image)
            self.random = random
            isPlain = kind == 0
        }

        var name: String { "\(image.width)x\(image.height) \(image.format.rawValue)" }

        /// A target that is no more work for the slow way than the image.
        mutating func side(upTo longest: Int) -> Int {
            let known = Self.sides.filter { $0 <= longest }
            return Bool.random(using: &random)
                ? known.randomElement(using: &random) ?? 1 : Int.random(in: 1...longest, using: &random)
        }
    }

    // MARK: The same samples

    @Test(arguments: UInt64(0)..<40) func `rotating moves every sample to its place`(seed: UInt64) throws {
        let example = try Case(seed)
        for orientation in FrameOrientation.allCases {
            let found = try ReferenceImage(example.image.upright(from: orientation))
            #expect(
                found.planes == example.reference.upright(from: orientation).planes,
                "\(example.name), \(orientation)"
            )
        }
    }

    @Test(arguments: UInt64(200)..<240)
    func `a color converted to another range and matrix equals the one from the formulas`(
        seed: UInt64
    ) throws {
        let example = try Case(seed, [.i420, .nv12], pixels: 5_000)
        for (source, target) in Self.colors.flatMap({ source in Self.colors.map { (source, $0) } }) {
            let found = try ReferenceImage(example.image.converted(from: source, to: target))
            for (plane, expected) in zip(found.planes, example.reference.converted(from: source, to: target)) {
                let worst = zip(plane.bytes, expected).map { abs(Double($0) - min(max($1, 0), 255)) }.max() ?? 0
                #expect(worst <= 1, "\(example.name)")
            }
        }
    }

    private static let colors = PixelBuffer.Color.Range.allCases.flatMap { range in
        PixelBuffer.Color.Matrix.allCases.map { PixelBuffer.Color(range: range, matrix: $0) }
    }

    // MARK: Scaled samples

    /// Checks samples of a scaled part, as many as the slow way has time for.
    private func check(
        _ found: ReferenceImage.Plane,
        at place: PixelBuffer.Rectangle,
        against source: ReferenceImage.Plane,
        _ part: PixelBuffer.Rectangle,
        tolerance: Int,
        _ random: inout SplitMix,
        _ name: String
    ) {
        let size = (width: place.width, height: place.height)
        for number in 0..<60 {
            // The corners, and places in between.
            let x = number < 4 ? number % 2 * (size.width - 1) : Int.random(in: 0..<size.width, using: &random)
            let y = number < 4 ? number / 2 * (size.height - 1) : Int.random(in: 0..<size.height, using: &random)
            for channel in 0..<found.channels {
                let sample = Int(found[place.x + x, place.y + y, channel])
                let bounds = ScalingBounds(source, part, size, (x, y, channel))
                let isWithin = Int(bounds.least) - tolerance...Int(bounds.greatest) + tolerance ~= sample
                guard isWithin else {
                    Issue.record("\(name): \(sample) at \(x),\(y),\(channel) is not in \(bounds)")
                    return
                }
                // Chroma is of pairs of rows and columns: the edge of its mean may lie a sample beside that of the area.
                func share(_ after: Int, of before: Int) -> Double {
                    2 * after > before ? 0 : 3 * Double(after) / Double(before)
                }
                let share = min(1, share(size.width, of: part.width) + share(size.height, of: part.height))
                let allowed = Double(tolerance + 1) + share * Double(bounds.greatest - bounds.least)
                guard bounds.means.lowerBound - allowed...bounds.means.upperBound + allowed ~= Double(sample) else {
                    Issue.record("\(name): \(sample) at \(x),\(y),\(channel) is not near \(bounds)")
                    return
                }
            }
        }
    }

    private func whole(_ plane: ReferenceImage.Plane) -> PixelBuffer.Rectangle {
        PixelBuffer.Rectangle(x: 0, y: 0, width: plane.width, height: plane.height)
    }

    @Test(arguments: UInt64(300)..<340) func `a scaled sample is from the area that it represents`(seed: UInt64) throws
    {
        var example = try Case(seed)
        let width = example.side(upTo: 65_500)
        let height = example.side(upTo: max(1, min(65_500, 400_000 / width)))
        let found = try ReferenceImage(example.image.scaled(toWidth: width, height: height))
        for (plane, source) in zip(found.planes, example.reference.planes) {
            let name = "\(example.name) to \(width)x\(height)"
            check(plane, at: whole(plane), against: source, whole(source), tolerance: 2, &example.random, name)
        }
    }

    @Test(arguments: UInt64(480)..<500) func `samples are copied into memory with other strides`(seed: UInt64) throws {
        var example = try Case(seed)
        let format = example.image.format
        let padding = (0..<3).map { _ in Int.random(in: 0...70, using: &example.random) }
        // Memory that ends with the last sample.
        let target = try unsafe GuardedImage.make(
            width: example.image.width,
            height: example.image.height,
            format: format,
            padding: padding
        ) { _, _, _ in }
        try unsafe example.image.copy(nil, over: target)
        #expect(ReferenceImage(target).planes == example.reference.planes, "\(example.name)")
    }

    /// A scale of any kind.
    static func scale(_ image: inout Case) -> SampleUploader.OutputScale {
        let box = (image.side(upTo: 2_000), image.side(upTo: 300))
        return switch Int.random(in: 0..<7, using: &image.random) {
        case 0: .full
        case 1: .half
        case 2: .fraction(numerator: Int.random(in: 1...7, using: &image.random), denominator: 7)
        case 3: .width(image.side(upTo: 65_500))
        case 4: .fit(width: box.0, height: box.1)
        case 5: .letterbox(width: box.0, height: box.1)
        default: .fill(width: box.0, height: box.1)
        }
    }

    @Test(arguments: UInt64(640)..<700) func `a viewport shows a part in its place, surrounded by black`(seed: UInt64)
        throws
    {
        var example = try Case(seed)
        let width = example.side(upTo: 65_500)
        let viewport = FrameDecoder.Viewport(
            width: width,
            height: example.side(upTo: max(1, min(65_500, 400_000 / width))),
            mode: try #require(FrameDecoder.Viewport.Mode.allCases.randomElement(using: &example.random))
        )
        let plan = viewport.plan(for: example.image)
        let name = "\(example.name), \(viewport)"
        check(try example.image.applying(plan), plan, example.reference.planes, &example.random, name)
    }

    @Test(arguments: UInt64(500)..<620) func `a plan puts each part in its place, surrounded by black`(seed: UInt64)
        throws
    {
        var example = try Case(seed)
        let scale = Self.scale(&example)
        let orientation = try #require(FrameOrientation.allCases.randomElement(using: &example.random))
        let plan = scale.plan(
            forWidth: example.image.width,
            height: example.image.height,
            orientation: orientation,
            appliesOrientation: seed % 2 == 0,
            subsampling: try #require(ChromaSubsampling.allCases.randomElement(using: &example.random))
        )
        let name = "\(example.name), \(scale), \(orientation)"
        check(try example.image.applying(plan), plan, example.reference.planes, &example.random, name)
        guard example.image.format.canBecomePlanes(by: plan) else { return }
        let planes = try example.image.planes(by: plan, pool: PixelBuffer.Pool())
        check(planes, plan, example.reference.luminance, tolerance: 3, &example.random, name + " to planes")
    }

    private func check(
        _ image: PixelBuffer,
        _ plan: OutputPlan,
        _ sources: [ReferenceImage.Plane],
        tolerance: Int = 2,
        _ random: inout SplitMix,
        _ name: String
    ) {
        #expect(BufferSize(width: image.width, height: image.height) == plan.canvas)
        let found = ReferenceImage(image)
        for (index, (plane, source)) in zip(found.planes, sources).enumerated() {
            let target = plan.place(dividedBy: index == 0 ? 1 : 2)
            let part = source.width == plan.image.width && source.height == plan.image.height ? 1 : 2
            check(plane, at: target, against: source, plan.part.divided(by: part), tolerance: tolerance, &random, name)
            let isBlack = { (x: Int, y: Int) in
                (0..<plane.channels).allSatisfy { [0, 255, 128].contains(plane[x, y, $0]) }
            }
            for (x, y) in [(0, 0), (plane.width - 1, 0), (0, plane.height - 1), (plane.width - 1, plane.height - 1)] {
                let isInside = target.x..<target.x + target.width ~= x && target.y..<target.y + target.height ~= y
                #expect(isInside || isBlack(x, y), "\(name): \(x),\(y)")
            }
        }
    }
}
