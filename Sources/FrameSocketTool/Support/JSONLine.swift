/// One JSON object on one line, with its members in the order in which they are added.
///
/// Not `JSONEncoder`: that chooses the order itself, and Foundation costs more memory than a sending process needs.
struct JSONLine {
    private var members = ""

    /// Creates an object whose first member is `"event"`.
    init(event: String) {
        add("event", event)
    }

    /// Creates an object without members.
    init() {}

    /// Creates the event of an error with which the command continues, or cannot listen.
    ///
    /// - Parameters:
    ///   - code: A stable name.
    ///   - message: A sentence.
    ///   - connection: The number of the connection that it belongs to, if any.
    init(errorCode code: String, _ message: String, connection: (some BinaryInteger)?) {
        self.init(event: "error")
        if let connection { add("connection", connection) }
        add("code", code)
        add("message", message)
    }

    /// The complete line.
    var text: String { "{\(members)}" }

    mutating func add(_ name: String, _ value: String) {
        addRaw(name, Self.quoted(value))
    }

    mutating func add(_ name: String, _ value: some BinaryInteger) {
        addRaw(name, String(value))
    }

    /// Adds a number with `digits` digits after the point.
    mutating func add(_ name: String, _ value: Double, digits: Int) {
        addRaw(name, Format.decimal(value, digits: digits))
    }

    mutating func add(_ name: String, _ value: Bool) {
        addRaw(name, value ? "true" : "false")
    }

    /// Adds an object.
    mutating func add(_ name: String, _ object: JSONLine) {
        addRaw(name, object.text)
    }

    /// Adds a list of objects.
    mutating func add(_ name: String, _ objects: [JSONLine]) {
        addRaw(name, "[" + objects.map(\.text).joined(separator: ",") + "]")
    }

    /// Adds a list of texts.
    mutating func add(_ name: String, _ texts: [String]) {
        addRaw(name, "[" + texts.map(Self.quoted).joined(separator: ",") + "]")
    }

    private mutating func addRaw(_ name: String, _ value: String) {
        if !members.isEmpty { members += "," }
        members += "\(Self.quoted(name)):\(value)"
    }

    /// Returns a text in quotes, without characters that a terminal may obey.
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
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
