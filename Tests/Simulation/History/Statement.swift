internal import FrameWire

/// What programs state about their side: each value says which statement it belongs to.
enum Statement {
    /// Returns the statement with a number; some have one short value, some all that is allowed.
    static func info(_ number: Int) -> ControlRequest.SessionInfo {
        var info = ControlRequest.SessionInfo()
        let filler = String(repeating: "x", count: number % 3 == 0 ? 250 - "\(number)".count : 0)
        for index in 0..<(1 + number * 7 % 16) {
            try? info.set("\(number) \(filler)", for: "value-\(index)\(filler.prefix(240))")
        }
        return info
    }

    /// Returns the number of a statement, which must be all there and nothing else; nil if it is not, 0 if it is empty.
    static func number(of info: ControlRequest.SessionInfo) -> Int? {
        guard let value = info.values.first?.value else { return 0 }
        let number = Int(value.prefix { $0 != " " }) ?? 0
        return number > 0 && Self.info(number).values == info.values ? number : nil
    }
}
