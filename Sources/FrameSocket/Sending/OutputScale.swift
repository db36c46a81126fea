public import FrameWire
public import TurboJPEG

/// How large the sent image is, compared with the one handed in.
///
/// Boxes and widths are meant as a person sees the image: if its orientation turns it on its side they apply to the
/// turned one. No image is ever made larger.
public enum OutputScale: Sendable, Hashable {
    /// As it is.
    case full

    /// A fraction of width and height, rounded down, at least 1 pixel: 1125x2436 by a half is 562x1218.
    case fraction(numerator: Int, denominator: Int)

    /// At most so many pixels wide, the height in proportion; NetEase sends 720.
    case width(Int)

    /// A box of 640x360 or 360x640 that the image covers just so, as Agora sends: the side that is too long for the
    /// box's shape decides.
    case agora

    /// A size of its own, and how the image fills it.
    case box(OutputBox)

    /// Half the width and half the height, as Jitsi sends.
    public static let half = OutputScale.fraction(numerator: 1, denominator: 2)

    /// At most so wide and so high, in proportion, and no larger than the scaled image is.
    public static func fit(width: Int, height: Int, turning: OutputBox.Turning = .withPicture) -> OutputScale {
        .box(OutputBox(width: width, height: height, filling: .fit, turning: turning))
    }

    /// Just this size, the whole image in its middle, and black if it does not reach.
    public static func letterbox(width: Int, height: Int, turning: OutputBox.Turning = .withPicture) -> OutputScale {
        .box(OutputBox(width: width, height: height, filling: .letterbox, turning: turning))
    }

    /// Just this size or, for a smaller image, this shape, filled with the middle of the image.
    public static func fill(width: Int, height: Int, turning: OutputBox.Turning = .withPicture) -> OutputScale {
        .box(OutputBox(width: width, height: height, filling: .fill, turning: turning))
    }

    /// Reads "1/2", "3/4" or "1"; nil for anything else, and for fractions that are 0 or more than 1.
    public init?(parsing text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard let numerator = parts.first ?? nil, numerator >= 1, parts.count <= 2,
            let denominator = parts.count == 2 ? parts[1] : 1, denominator >= numerator
        else { return nil }
        self = numerator == denominator ? .full : .fraction(numerator: numerator, denominator: denominator)
    }

    /// The size of what is sent for an image of the given size.
    public func size(forWidth width: Int, height: Int) -> (width: Int, height: Int) {
        let canvas = plan(forWidth: width, height: height).canvas
        return (canvas.width, canvas.height)
    }

    /// What is done to an image of the given size, in the directions of its buffer.
    ///
    /// - Parameters:
    ///   - width: The image's width in pixels.
    ///   - height: Its height.
    ///   - orientation: How it lies.
    ///   - subsampling: Sizes other than ``full`` and fractions are whole chroma samples of this: even for 4:2:0.
    /// - Returns: The plan, which `PixelBuffer.applying(_:pool:)` carries out.
    public func plan(
        forWidth width: Int,
        height: Int,
        orientation: FrameOrientation = .up,
        subsampling: ChromaSubsampling = .yuv420
    ) -> OutputPlan {
        let picture = BufferSize(width: width, height: height)
        switch self {
        case .full:
            return OutputPlan(picture)
        case .fraction(let numerator, let denominator):
            return .fraction(of: picture, numerator, denominator)
        case .width, .agora, .box:
            let planner = OutputPlanner(picture.turned(by: orientation), subsampling.blockSize.turned(by: orientation))
            return plan(planner).turned(by: orientation)
        }
    }

    private func plan(_ planner: OutputPlanner) -> OutputPlan {
        switch self {
        case .box(let box):
            let size = box.size(for: planner.picture)
            return switch box.filling {
            case .fit: planner.fit(size)
            case .letterbox: planner.letterbox(size)
            case .fill: planner.fill(size)
            }
        case .agora:
            return planner.fit(Self.agoraBox(for: planner.picture))
        case .width(let width):
            return planner.fit(BufferSize(width: min(max(width, 1), OutputBox.maximumSide), height: .max))
        case .full, .fraction:
            return OutputPlan(planner.picture)
        }
    }

    /// The box whose one side decides; the other is left open.
    private static func agoraBox(for picture: BufferSize) -> BufferSize {
        let (width, height) = (picture.width, picture.height)
        if width <= height {
            return 16 * width <= 9 * height
                ? BufferSize(width: .max, height: 640) : BufferSize(width: 360, height: .max)
        }
        return 9 * width <= 16 * height
            ? BufferSize(width: .max, height: 360) : BufferSize(width: 640, height: .max)
    }
}

extension BufferSize {
    /// The size as a person sees it, of one in a buffer, and the other way round.
    func turned(by orientation: FrameOrientation) -> BufferSize {
        orientation.swapsAxes ? BufferSize(width: height, height: width) : self
    }
}

extension ChromaSubsampling {
    /// The pixels that share a chroma sample.
    fileprivate var blockSize: BufferSize {
        BufferSize(width: mcuWidth / 8, height: mcuHeight / 8)
    }
}
