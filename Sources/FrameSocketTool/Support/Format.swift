import FrameSocket

/// Numbers for a person to read.
enum Format {
    /// `value` with `digits` digits after the point, such as "12.3".
    static func decimal(_ value: Double, digits: Int) -> String {
        guard value.isFinite else { return "\(value)" }
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let rounded = (abs(value) * scale).rounded()
        let whole = String(Int(exactly: rounded / scale) ?? Int((rounded / scale).rounded(.down)))
        let sign = value < 0 && rounded > 0 ? "-" : ""
        guard digits > 0 else { return sign + whole }
        let fraction = String(Int(rounded.truncatingRemainder(dividingBy: scale)))
        return sign + whole + "." + String(repeating: "0", count: digits - fraction.count) + fraction
    }

    /// "512 B", "34.5 kB", "1.2 MB".
    static func bytes(_ count: some BinaryInteger) -> String {
        let count = Double(count)
        if count < 1000 { return "\(Int(count)) B" }
        if count < 1_000_000 { return decimal(count / 1000, digits: 1) + " kB" }
        return decimal(count / 1_000_000, digits: 1) + " MB"
    }

    /// "1.23 ms".
    static func milliseconds(_ duration: Duration) -> String {
        decimal(Double(duration.nanoseconds) / 1_000_000, digits: 2) + " ms"
    }

    /// "1 second", "0.5 seconds".
    static func seconds(_ seconds: Double) -> String {
        if let whole = Int(exactly: seconds) { return count(whole, "second") }
        return "\(seconds) seconds"
    }

    /// "1 frame", "2 frames".
    static func count(_ count: some BinaryInteger, _ singular: String) -> String {
        count == 1 ? "1 \(singular)" : "\(count) \(singular)s"
    }
}

extension String {
    /// The text with spaces before it, so that it is at least `width` characters wide.
    func leftPadded(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }

    /// The text with spaces after it, so that it is at least `width` characters wide.
    func rightPadded(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
