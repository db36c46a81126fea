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
    private(set) var rate = 30.0
    private(set) var quality = 80
    private(set) var drawsCursor = true

    init(_ arguments: [String]) throws(Failure) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--display":
                display = try Self.value(of: argument, &rest)
            case "--window":
                let text = try Self.value(of: argument, &rest)
                let isHexadecimal = text.lowercased().hasPrefix("0x")
                guard let id = isHexadecimal ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text), id != 0 else {
                    throw .usage("invalid value '\(text)' for --window: expected an ID such as 0x1a00007")
                }
                try select(.window(id))
            case "--monitor":
                try select(.monitor(try Self.value(of: argument, &rest)))
            case "--rate":
                rate = try Self.number(of: argument, &rest, in: 1...240)
            case "--quality":
                quality = Int(try Self.number(of: argument, &rest, in: 1...100))
            case "--no-cursor":
                drawsCursor = false
            case _ where argument.hasPrefix("-"):
                throw .usage("unknown option '\(argument)'; --help lists the options")
            case _ where socket.isEmpty:
                socket = argument
            default:
                throw .usage("unexpected argument '\(argument)': one socket is enough")
            }
        }
        guard !socket.isEmpty else { throw .usage("no socket was given: ScreenCapture SOCKET") }
    }

    private mutating func select(_ source: Source) throws(Failure) {
        guard self.source == .screen else { throw .usage("--window and --monitor are mutually exclusive") }
        self.source = source
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(Failure) -> String {
        guard let value = rest.popFirst(), !value.isEmpty else { throw .usage("\(option) needs a value") }
        return value
    }

    private static func number(
        of option: String,
        _ rest: inout ArraySlice<String>,
        in range: ClosedRange<Int>
    ) throws(Failure) -> Double {
        let text = try value(of: option, &rest)
        guard let number = Int(text), range ~= number else {
            throw .usage("invalid value '\(text)' for \(option): expected \(range.lowerBound) to \(range.upperBound)")
        }
        return Double(number)
    }
}
