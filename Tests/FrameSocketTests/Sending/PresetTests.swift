import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

/// Sizes by name, in the direction that the viewer sees.
@Suite(.tags(.computes)) struct PresetTests {
    typealias Scale = SampleUploader.OutputScale

    /// Shows P333.
    @Test func `a preset has the sides of 16 to 9 that its name says, and is a box`() {
        let sizes = Scale.Preset.allCases.map { [$0.longSide, $0.shortSide] }
        #expect(sizes == [[640, 360], [960, 540], [1280, 720], [1920, 1080], [2560, 1440], [3840, 2160]])
        #expect(Scale.Preset(rawValue: 720) == .p720 && Scale.Preset(rawValue: 0) == nil)
        for preset in Scale.Preset.allCases {
            let (width, height) = (preset.longSide, preset.shortSide)
            #expect(Scale.preset(preset) == .fit(width: width, height: height))
            for rotation in Scale.Rotation.allCases {
                let box = Scale.fit(width: width, height: height, rotation: rotation)
                #expect(Scale.preset(preset, rotation: rotation) == box)
            }
        }
    }

    /// An upright image of 1920x1080, and of 1080x1920, at 360p: what the viewer sees.
    static let seen: [(rotation: Scale.Rotation, landscape: (Int, Int), portrait: (Int, Int))] = [
        (.withImage, (640, 360), (360, 640)),
        (.landscape, (640, 360), (202, 360)),
        (.portrait, (360, 202), (360, 640)),
        (.never, (640, 360), (202, 360)),
    ]

    /// For each orientation, whether the buffer's sides are those of the upright image, written out.
    static let orientations: [(FrameOrientation, isTurned: Bool)] = [
        (.up, false), (.upMirrored, false), (.down, false), (.downMirrored, false),
        (.leftMirrored, true), (.right, true), (.rightMirrored, true), (.left, true),
    ]

    /// The buffer that is sent has the sides of what the viewer sees, exchanged unless the sender rotates it.
    ///
    /// Shows P333.
    @Test(arguments: orientations, [false, true])
    func `the direction is that of the upright image, in all orientations`(
        orientation: (FrameOrientation, isTurned: Bool),
        isRotated: Bool
    ) {
        for (rotation, landscape, portrait) in Self.seen {
            for (upright, seen) in [((1920, 1080), landscape), ((1080, 1920), portrait)] {
                let buffer = orientation.isTurned ? (upright.1, upright.0) : upright
                let size = Scale.preset(.p360, rotation: rotation).plan(
                    forWidth: buffer.0,
                    height: buffer.1,
                    orientation: orientation.0,
                    appliesOrientation: isRotated
                ).canvas
                let expected = orientation.isTurned ? (seen.1, seen.0) : seen
                #expect((size.width, size.height) == expected, "\(rotation) of \(upright)")
            }
        }
    }
}
