internal import FrameWire

/// What programs state about their side: each value says which statement it belongs to.
enum Statement {
    /// Returns the statement with a number, nothing for 0; some have one short value, some all that is allowed.
    static func info(_ number: Int) -> ControlRequest.SessionInfo {
        var info = ControlRequest.SessionInfo()
        guard number > 0 else { return info }
        let filler = String(repeating: "x", count: number % 3 == 0 ? 250 - "\(number)".count : 0)
        for index in 0..<(1 + number * 7 % 16) {
            // What is too much is left out.
            try? info.set("\(number) \(filler)", for: "value-\(index)\(filler.prefix(240))")
        }
        return info
    }
}
