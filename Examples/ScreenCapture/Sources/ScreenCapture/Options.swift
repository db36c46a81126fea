/// What the command line asks for.
struct Options {
    static let usage = """
        usage: ScreenCapture SOCKET [--display NAME] [--window ID | --monitor NAME] [--rate N] [--quality N] [--no-cursor]

        Shares an X11 screen with the receiver at SOCKET, until the receiver ends it, or Ctrl-C does.

          --display NAME   the X server (default: $DISPLAY)
          --window ID      shares one window; xwininfo prints its ID
          --monitor NAME   shares one monitor; xrandr --listmonitors prints the names
          --rate N         images a second at most, 1 to 240 (default: 30)
          --quality N      of the JPEGs, 1 to 100 (default: 80)
          --no-cursor      leaves the mouse pointer out
        """

    /// The part of the display that is shared.
    enum Source: Equatable {
        case screen
        case monitor(String)
        case window(UInt32)
    }

    private(set) var socket = ""
    private(set) var display: String?
    private(set) var source = Source.screen
    private(set) var (rate, quality) = (30.0, 80)
    private(set) var drawsCursor = true

    init(_ arguments: [String]) throws(Failure) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            func value<Value>(_ expected: String, _ parse: (String) -> Value?) throws(Failure) -> Value {
                guard let text = rest.popFirst(), !text.isEmpty else { throw .usage("\(argument) needs a value") }
                if let value = parse(text) { return value }
                throw .usage("invalid value '\(text)' for \(argument): expected \(expected)")
            }
            func number(in range: ClosedRange<Int>) throws(Failure) -> Int {
                try value("\(range.lowerBound) to \(range.upperBound)") { Int($0).flatMap { range ~= $0 ? $0 : nil } }
            }
            switch argument {
            case "--display": display = try value("a name") { $0 }
            case "--window", "--monitor":
                guard source == .screen else { throw .usage("--window and --monitor are mutually exclusive") }
                source =
                    argument == "--monitor"
                    ? .monitor(try value("a name") { $0 }) : .window(try value("an ID such as 0x1a00007", Self.id))
            case "--rate": rate = Double(try number(in: 1...240))
            case "--quality": quality = try number(in: 1...100)
            case "--no-cursor": drawsCursor = false
            case _ where argument.hasPrefix("-"):
                throw .usage("unknown option '\(argument)'; --help lists the options")
            case _ where socket.isEmpty: socket = argument
            default: throw .usage("unexpected argument '\(argument)': one socket is enough")
            }
        }
        guard !socket.isEmpty else { throw .usage("no socket was given: ScreenCapture SOCKET") }
    }

    private static func id(_ text: String) -> UInt32? {
        let id = text.lowercased().hasPrefix("0x") ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text)
        return id == 0 ? nil : id
    }
}
