/// Decides how much memory messages may take while being received, over all connections that share a budget.
///
/// Bodies of a usual size are admitted at once: every connection has room for two of them, and for audio, as long as it
/// lasts. One half of the budget is divided for this among the places of all servers that listen, but always among at
/// least a few, so that a server with one place leaves room for one that starts later.
///
/// The other half is one counter. Larger bodies are admitted whole, in the order in which they come; the others wait, and
/// are not read. A body counts until its frame has been taken, or its sender has gone. What departed senders have left
/// unread counts too, but only until somebody needs the room: then it is dropped, oldest first.
///
/// `Connection` is how a connection is told something.
package struct BudgetMachine<Connection: Sendable>: Sendable {
    /// What a connection has to be told.
    package enum Notice: Sendable {
        /// Its body, which waited, is admitted: the next ``admit(_:for:)`` finds that.
        case admitted(Connection)
        /// What its sender has left must be dropped.
        case dropped(Connection)
    }

    /// What a connection has in the budget as long as it lasts.
    package struct Part: Sendable, Hashable {
        package let bytes: Int

        package init(bytes: Int) { self.bytes = bytes }

        /// The largest body that is admitted at once: two fit in the part, beside the audio.
        package var usualBody: Int { min(1 << 20, (bytes - bytes / 8) / 2) }

        /// The bytes of audio that may wait to be taken.
        package var audio: Int { min(1 << 20, bytes / 8) }
    }

    private struct Account {
        let connection: Connection
        var part: Int
        /// The bytes of the admitted bodies, or of what a departed sender has left.
        var counted = 0
        /// The body that waits, or that has been admitted after it did.
        var waiting: (bytes: Int, isAdmitted: Bool)?
        var hasDeparted = false
    }

    /// The total number of bytes.
    package let bytes: Int

    /// The fewest places among which one half is divided.
    package static var fewestPlaces: Int { 8 }

    /// The places for connections of all servers that listen.
    package private(set) var placeCount = 0

    /// The bytes that are free for further connections.
    package private(set) var freeForConnections: Int

    /// The bytes that are free for larger bodies, and for what departed senders leave.
    package private(set) var free: Int

    /// The bytes of memory that senders share, which delays no body.
    package private(set) var mappedBytes = 0

    private var accounts: [UInt64: Account] = [:]
    /// The connections whose bodies wait, in order.
    private var line: [UInt64] = []
    /// The departed senders with frames left, in order.
    private var departed: [UInt64] = []
    private var lastID: UInt64 = 0
    private var notices: [Notice] = []

    /// Creates a budget of the given number of bytes.
    package init(bytes: Int) {
        self.bytes = max(0, bytes)
        freeForConnections = self.bytes / 2
        free = self.bytes / 2
    }

    /// The size of the largest body that can be received.
    package var largestBody: Int { bytes / 2 }

    /// The number of bodies that wait.
    package var waitingCount: Int { line.count }

    /// The first connection whose body waits, and the size of the body.
    package var firstWaiting: (id: UInt64, bytes: Int)? {
        line.first.map { ($0, accounts[$0]?.waiting?.bytes ?? 0) }
    }

    /// The bytes of what departed senders have left.
    package var departedBytes: Int { departed.reduce(0) { $0 + (accounts[$1]?.counted ?? 0) } }

    /// The number of connections, and of departed senders with frames left.
    package var accountCount: Int { accounts.count }

    // MARK: Connections

    /// Adds the places of a server that starts to listen.
    package mutating func open(places: Int) {
        placeCount += Self.countable(places)
    }

    /// Removes the places of a server that no longer listens.
    package mutating func close(places: Int) {
        placeCount -= Self.countable(places)
    }

    private static func countable(_ places: Int) -> Int { max(1, min(places, 1 << 20)) }

    /// Adds a connection: its part is less than usual, or nothing, if the connections that were accepted when fewer
    /// servers listened have the rest.
    package mutating func join(_ connection: Connection) -> (id: UInt64, part: Part) {
        let part = min(bytes / 2 / max(Self.fewestPlaces, placeCount), freeForConnections)
        freeForConnections -= part
        lastID += 1
        accounts[lastID] = Account(connection: connection, part: part)
        return (lastID, Part(bytes: part))
    }

    /// Takes out what connections have to be told since the last call, in order.
    package mutating func takeNotices() -> [Notice] {
        if notices.isEmpty { return [] }
        defer { notices = [] }
        return notices
    }

    // MARK: Bodies

    /// Admits a body of at most ``largestBody`` bytes, at once or after those that wait.
    ///
    /// - Returns: Whether it is admitted; if not, a notice follows, unless it is withdrawn.
    package mutating func admit(_ bytes: Int, for id: UInt64) -> Bool {
        if let waiting = accounts[id]?.waiting {
            if waiting.isAdmitted { accounts[id]?.waiting = nil }
            return waiting.isAdmitted
        }
        if line.isEmpty, makeRoom(for: bytes) {
            count(bytes, for: id)
            return true
        }
        accounts[id]?.waiting = (bytes, false)
        line.append(id)
        return false
    }

    /// Withdraws the body that waits, even if it has been admitted since.
    package mutating func withdraw(_ id: UInt64) {
        guard let (bytes, isAdmitted) = accounts[id]?.waiting else { return }
        accounts[id]?.waiting = nil
        if isAdmitted { return release(bytes, of: id) }
        line.removeAll { $0 == id }
        // Those behind it may have waited only for this one.
        serveLine()
    }

    /// Releases an admitted body, because it has been taken or dropped.
    package mutating func release(_ bytes: Int, of id: UInt64) {
        // Those of a sender that has departed are free already.
        guard let account = accounts[id], !account.hasDeparted else { return }
        accounts[id]?.counted -= bytes
        free += bytes
        serveLine()
    }

    private mutating func count(_ bytes: Int, for id: UInt64) {
        free -= bytes
        accounts[id]?.counted += bytes
    }

    // MARK: Departed senders

    /// Ends a connection, and keeps what it leaves unread if there is room; if not, a notice tells to drop it.
    package mutating func depart(_ id: UInt64, leaving bytes: Int) {
        guard var account = accounts[id], !account.hasDeparted else { return }
        free += account.counted
        freeForConnections += account.part
        accounts[id] = nil
        line.removeAll { $0 == id }
        serveLine()
        guard bytes > 0 else { return }
        // Nothing is taken from those that wait.
        guard line.isEmpty, makeRoom(for: bytes) else { return notices.append(.dropped(account.connection)) }
        (account.part, account.counted, account.waiting, account.hasDeparted) = (0, 0, nil, true)
        accounts[id] = account
        count(bytes, for: id)
        departed.append(id)
    }

    /// Forgets a departed sender, of which nothing is left to be taken.
    package mutating func forget(_ id: UInt64) {
        guard let account = accounts[id], account.hasDeparted else { return }
        departed.removeAll { $0 == id }
        accounts[id] = nil
        free += account.counted
        serveLine()
    }

    /// Admits those that wait, as far as there is room.
    private mutating func serveLine() {
        while let (id, bytes) = firstWaiting, makeRoom(for: bytes) {
            line.removeFirst()
            count(bytes, for: id)
            accounts[id]?.waiting = (bytes, true)
            if let account = accounts[id] { notices.append(.admitted(account.connection)) }
        }
    }

    /// Drops what departed senders have left, oldest first, until there is room; drops none if that would not be enough.
    private mutating func makeRoom(for bytes: Int) -> Bool {
        guard bytes <= free + departedBytes else { return false }
        while free < bytes {
            guard let oldest = accounts.removeValue(forKey: departed.removeFirst()) else { continue }
            free += oldest.counted
            notices.append(.dropped(oldest.connection))
        }
        return true
    }

    // MARK: Shared memory

    /// Counts memory that a sender shares, if all of it together does not exceed ``largestBody``.
    package mutating func map(_ bytes: Int) -> Bool {
        guard bytes <= largestBody - mappedBytes else { return false }
        mappedBytes += bytes
        return true
    }

    /// Takes back memory that is no longer shared.
    package mutating func unmap(_ bytes: Int) {
        mappedBytes -= bytes
    }
}
