/// Whether pictures change in places or all over, and the height of strips that suits it.
struct StripPace: Sendable {
    /// Low strips cost more to compress all over, and less where few of them change.
    private static let calmRows = 1
    private static let busyRows = 2
    /// Where nothing works side by side, higher strips have nothing against them.
    private static let busyRowsOfOneThread = 8

    /// How many pictures in a row must speak for the other height: it makes all strips anew.
    private static let patience = 3

    private var isCalm = true
    private var opposed = 0

    /// The rows of MCUs in a strip.
    func mcuRows(threads: Int) -> Int {
        if isCalm { return Self.calmRows }
        return threads == 1 ? Self.busyRowsOfOneThread : Self.busyRows
    }

    /// Notes how many strips of a picture had changed; one that has not changed at all says nothing.
    mutating func note(changed: Int, of count: Int) {
        guard changed > 0 else { return }
        let speaksForOther = isCalm ? changed * 4 > count * 3 : changed * 2 <= count
        opposed = speaksForOther ? opposed + 1 : 0
        guard opposed >= Self.patience else { return }
        isCalm.toggle()
        opposed = 0
    }
}
