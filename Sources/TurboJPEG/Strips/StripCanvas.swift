/// An image that persists from one frame to the next, and the strips of it that are out of date.
struct StripCanvas: Sendable {
    var picture: PixelBuffer
    var isStale: [Bool]

    /// Creates a canvas of which nothing has been decoded.
    init(_ picture: PixelBuffer, strips: Int) {
        self.picture = picture
        isStale = [Bool](repeating: true, count: strips)
    }

    /// The number of strips that are out of date.
    var staleCount: Int { isStale.count { $0 } }
}
