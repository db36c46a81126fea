/// An image that persists from one frame to the next, and the strips of it that are out of date.
struct StripCanvas: Sendable {
    var image: PixelBuffer
    var isStale: [Bool]

    /// Creates a canvas of which nothing has been decoded.
    init(_ image: PixelBuffer, strips: Int) {
        self.image = image
        isStale = [Bool](repeating: true, count: strips)
    }

    /// Adds strips that are out of date.
    mutating func addStale(_ changed: [Bool]) {
        for index in isStale.indices where changed[index] { isStale[index] = true }
    }

    /// The number of strips that are out of date.
    var staleCount: Int { isStale.count { $0 } }
}
