import FrameSocket

/// The image that `send` draws over every frame, and where.
struct WatermarkFile {
    static let help = """
          --watermark FILE draw an image over every frame: a PNG with its transparency,
                           or a JPEG
          --watermark-at X,Y,S
                           its left and upper edge, -1 to 1, and its width, up to 1, as
                           fractions of the width and height that are sent, upright
                           (0.1,0.1,0.1)
        """

    private let path: String
    private let place: [Double]

    /// Takes the options; nil if there are none.
    init?(_ arguments: inout Arguments) throws(UsageError) {
        let path = try arguments.path("--watermark")
        let expectation = "X,Y,S, such as 0.1,0.1,0.1: two numbers from -1 to 1, and one above 0 and up to 1"
        let place = try arguments.value("--watermark-at", expectation) { text -> [Double]? in
            let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) ?? .nan }
            guard numbers.count == 3, numbers.allSatisfy({ -1...1 ~= $0 }), numbers[2] > 0 else { return nil }
            return numbers
        }
        guard let path else {
            guard place == nil else { throw UsageError(message: "--watermark-at requires --watermark") }
            return nil
        }
        (self.path, self.place) = (path, place ?? [0.1, 0.1, 0.1])
    }

    func read() throws(CommandFailure) -> SampleUploader.Watermark {
        let pool = PixelBuffer.Pool()
        var image = InputImage(name: path, content: try ImageFile(FilePath(path), over: nil, pool: pool).content)
        let pixels = try image.pixels(pool, isLenient: false)
        do throws(TurboJPEGError) {
            return try SampleUploader.Watermark(pixels, x: place[0], y: place[1], scale: place[2])
        } catch {
            throw CommandFailure(ExitCode(error), "\(path): \(error)")
        }
    }
}
