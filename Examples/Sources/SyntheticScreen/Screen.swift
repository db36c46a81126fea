import FrameSocket

/// A dark screen with a bright window that moves from left to right, one step every second image.
struct Screen {
    private(set) var image: PixelBuffer
    private var frames = 0

    init(width: Int, height: Int) throws {
        image = try PixelBuffer(width: width, height: height, format: .bgra, zeroFilled: true)
    }

    /// Draws the next image; every other one equals the previous one.
    mutating func draw() throws {
        let window = image.width / 4
        let left = frames / 2 * 4 % (image.width - window)
        frames += 1
        for y in 0..<image.height {
            let isInside = y > image.height / 4 && y < image.height * 3 / 4
            // If the uploader still holds the image, this writes to a copy.
            try image.withMutableRow(y) { row in
                for x in 0..<row.count / 4 {
                    let isLit = isInside && x >= left && x < left + window
                    row[4 * x] = isLit ? UInt8(truncatingIfNeeded: y) : 40
                    row[4 * x + 1] = isLit ? 220 : 30
                    row[4 * x + 2] = isLit ? UInt8(truncatingIfNeeded: x) : 20
                    row[4 * x + 3] = 255
                }
            }
        }
    }
}
