import FrameSocket

/// What a JSON object may have as the value of a member.
protocol JSONValue {
    var json: String { get }
}

extension JSONValue where Self: CustomStringConvertible {
    var json: String { description }
}

extension Bool: JSONValue {}
extension Int: JSONValue {}
extension Int32: JSONValue {}
extension Int64: JSONValue {}
extension UInt8: JSONValue {}
extension UInt16: JSONValue {}
extension UInt32: JSONValue {}
extension UInt64: JSONValue {}

extension String: JSONValue {
    /// The text in quotes, without characters that a terminal may obey.
    var json: String {
        var result = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.properties.generalCategory == .control:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

extension Array: JSONValue where Element: JSONValue {
    var json: String { "[" + map(\.json).joined(separator: ",") + "]" }
}

/// A number with so many digits after the point.
struct JSONNumber: JSONValue {
    let json: String

    init(_ value: Double, digits: Int) { json = Format.decimal(value, digits: digits) }
}

/// One JSON object on one line, with its members in the order in which they are stated; one without a value is left out.
///
/// Not `JSONEncoder`: that chooses the order itself, and Foundation costs more memory than a sending process needs.
struct JSONLine: JSONValue, ExpressibleByDictionaryLiteral {
    private var members: [String] = []

    init(event: String? = nil) {
        add("event", event)
    }

    init(dictionaryLiteral members: (String, (any JSONValue)?)...) {
        for (name, value) in members { add(name, value) }
    }

    mutating func add(_ name: String, _ value: (any JSONValue)?) {
        if let value { members.append("\(name.json):\(value.json)") }
    }

    /// Adds the members of another object.
    mutating func add(_ other: JSONLine) { members += other.members }

    /// The complete line.
    var text: String { "{" + members.joined(separator: ",") + "}" }

    var json: String { text }
}

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
    /// The text with spaces after it, so that it is at least `width` characters wide.
    func rightPadded(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}

extension String {
    /// The text with what a terminal may obey shown as `\x1B` or `\u202E`: control characters, and those that change the direction of what
    /// follows, so that the name of a file neither colors nor erases nor rearranges the message that it is part of.
    ///
    /// A line feed is one of them: whoever prints several lines prints one after another.
    var visible: String {
        guard unicodeScalars.contains(where: Self.isHidden) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            guard Self.isHidden(scalar) else {
                text.unicodeScalars.append(scalar)
                continue
            }
            let digits = String(scalar.value, radix: 16, uppercase: true)
            let (mark, width) = scalar.isASCII ? ("x", 2) : ("u", 4)
            text += "\\" + mark + String(repeating: "0", count: width - digits.count) + digits
        }
        return text
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension String {
    /// The word that was probably meant instead of this one, in parentheses; empty if none is near.
    func suggestion(among words: some Sequence<String>) -> String {
        let nearest = words.map { (word: $0, distance: distance(to: $0)) }.min { $0.distance < $1.distance }
        // A slip or two, and not just any word of the same length.
        guard let nearest, nearest.distance <= Swift.max(1, Swift.min(2, utf8.count / 4)) else { return "" }
        return " (did you mean \(nearest.word)?)"
    }

    /// How many bytes are inserted, left out, replaced or exchanged with the next in `other`.
    private func distance(to other: String) -> Int {
        let (own, others) = (Array(utf8), Array(other.utf8))
        var (before, last) = ([Int](), Array(0...others.count))
        for i in own.indices {
            var next = [i + 1]
            for j in others.indices {
                let isExchanged = i > 0 && j > 0 && own[i] == others[j - 1] && own[i - 1] == others[j]
                let exchanged = isExchanged ? before[j - 1] + 1 : .max
                next.append(Swift.min(last[j] + (own[i] == others[j] ? 0 : 1), last[j + 1] + 1, next[j] + 1, exchanged))
            }
            (before, last) = (last, next)
        }
        return last[others.count]
    }
}
