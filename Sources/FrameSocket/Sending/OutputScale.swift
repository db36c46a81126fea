/// How large the sent picture is, compared with the one handed in.
public enum OutputScale: Sendable, Hashable {
    /// As it is.
    case full

    /// A fraction of width and height, rounded down, at least 1 pixel: 1125x2436 by a half is 562x1218.
    case fraction(numerator: Int, denominator: Int)

    /// Half the width and half the height, as Jitsi sends.
    public static let half = OutputScale.fraction(numerator: 1, denominator: 2)

    /// Reads "1/2", "3/4" or "1"; nil for anything else, and for fractions that are 0 or more than 1.
    public init?(parsing text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard let numerator = parts.first ?? nil, numerator >= 1, parts.count <= 2,
            let denominator = parts.count == 2 ? parts[1] : 1, denominator >= numerator
        else { return nil }
        self = numerator == denominator ? .full : .fraction(numerator: numerator, denominator: denominator)
    }

    /// The size of what is sent for a picture of the given size.
    public func size(forWidth width: Int, height: Int) -> (width: Int, height: Int) {
        guard case .fraction(let numerator, let denominator) = self else { return (width, height) }
        func scaled(_ side: Int) -> Int {
            guard numerator > 0, denominator > 0 else { return side }
            let (product, overflows) = side.multipliedReportingOverflow(by: numerator)
            return overflows ? side : max(1, product / denominator)
        }
        return (scaled(width), scaled(height))
    }

    /// The part at the top left of a picture that the sent one is made of.
    ///
    /// For a whole divisor that is the largest part that it divides, so that each pixel covers as many as the next one:
    /// an odd column at the edge is left out, as Jitsi's senders do, and the fast scaler applies.
    func source(width: Int, height: Int) -> (width: Int, height: Int) {
        guard case .fraction(1, let denominator) = self, denominator > 1 else { return (width, height) }
        func whole(_ side: Int) -> Int { side < denominator ? side : side - side % denominator }
        return (whole(width), whole(height))
    }
}
