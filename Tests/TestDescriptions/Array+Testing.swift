// A release build makes every target, and has no Testing.
#if canImport(Testing)
    public import Testing

    extension Array: @retroactive CustomTestStringConvertible {
        /// The elements, in so few characters that a line tells a failing case from others.
        public var testDescription: String {
            if let bytes = self as? [UInt8], bytes.count > 12 {
                let start = bytes.prefix(4).map { String($0, radix: 16) }.joined(separator: " ")
                return "\(bytes.count) bytes \(start)…\(fingerprint(of: bytes))"
            }
            return shortened("[\(map { String(describingForTest: $0) }.joined(separator: ", "))]")
        }
    }
#endif
