/// A file's path as the system sees it: bytes, which need not be UTF-8.
///
/// A `String` would replace bytes that are not UTF-8 by other characters, and so name another file.
struct FilePath: Sendable, Hashable {
    private let bytes: [UInt8]

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// The bytes up to the first NUL.
    init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes.prefix { $0 != 0 })
    }

    /// The path for display: bytes that are not UTF-8 are shown as `\xFF`, so only a path without any opens the same
    /// file.
    var text: String { Self.text(of: bytes) }

    /// The path as a `String`; nil if it has bytes that are not UTF-8.
    var exactText: String? { String(validating: bytes, as: UTF8.self) }

    /// The last component.
    var name: String { Self.text(of: bytes.split(separator: UInt8(ascii: "/")).last ?? []) }

    /// Returns the path of an entry of this directory.
    func appending(_ entry: FilePath) -> FilePath {
        let slash = bytes.last == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]
        return FilePath(bytes + slash + entry.bytes)
    }

    /// Calls `body` with the path as a C string.
    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result? {
        let text = bytes.map { CChar(bitPattern: $0) } + [0]
        return unsafe text.withUnsafeBufferPointer { text in
            guard let base = text.baseAddress else { return nil }
            return unsafe body(base)
        }
    }

    private static func text(of bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = ""
        var rest = Array(bytes)[...]
        while let first = rest.first {
            // The one to four bytes of a character that begins here, or a single byte.
            let whole = (1...4).lazy.compactMap { String(validating: rest.prefix($0), as: UTF8.self) }.first
            text += whole ?? "\\x" + (first < 16 ? "0" : "") + String(first, radix: 16, uppercase: true)
            rest = rest.dropFirst(whole?.utf8.count ?? 1)
        }
        return text
    }
}

extension FilePath: Comparable {
    /// Orders paths as people number files: by their bytes, but runs of digits by their value, so that `frame-2` comes
    /// before `frame-10`.
    static func < (first: FilePath, second: FilePath) -> Bool {
        var (left, right) = (first.bytes[...], second.bytes[...])
        while let one = left.first, let other = right.first {
            if isDigit(one), isDigit(other) {
                let (number, otherNumber) = (takeNumber(from: &left), takeNumber(from: &right))
                if number.count != otherNumber.count { return number.count < otherNumber.count }
                if number != otherNumber { return number.lexicographicallyPrecedes(otherNumber) }
            } else {
                if one != other { return one < other }
                left.removeFirst()
                right.removeFirst()
            }
        }
        if left.isEmpty != right.isEmpty { return left.isEmpty }
        // They differ in leading zeros at most.
        return first.bytes.lexicographicallyPrecedes(second.bytes)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Removes a run of digits; returns it without leading zeros.
    private static func takeNumber(from bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let digits = bytes.prefix(while: isDigit)
        bytes = bytes.dropFirst(digits.count)
        return digits.drop { $0 == UInt8(ascii: "0") }
    }
}
