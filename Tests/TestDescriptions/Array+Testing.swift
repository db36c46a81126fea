public import Testing

extension Array: @retroactive CustomTestStringConvertible {
    /// The elements, in so few characters that a line tells a failing case from others.
    public var testDescription: String {
        if let bytes = self as? [UInt8], bytes.count > 12 { return Self.description(of: bytes) }
        return shortened("[\(map { String(describingForTest: $0) }.joined(separator: ", "))]", to: 70)
    }

    /// How many bytes there are, the first ones, and a sum over all that tells them apart.
    private static func description(of bytes: [UInt8]) -> String {
        let sum = bytes.reduce(into: UInt32(0)) { $0 = $0 &* 31 &+ UInt32($1) }
        let start = bytes.prefix(4).map { String($0, radix: 16) }.joined(separator: " ")
        return "\(bytes.count) bytes \(start)… (\(String(sum, radix: 16)))"
    }
}
