/// Decides how much memory messages may take while being received, over all connections that share a budget.
///
/// One half is for the connections: each has an allowance for as long as it lasts, for bodies of the usual size. It is
/// divided among the places of all servers that listen, but always among at least a few, so that a server with one
/// place leaves room for one that starts later.
///
/// The other half is for large bodies, which are granted whole and in the order of the requests. They wait for each
/// other, until a granted one has been consumed, or has ended with its sender or at its deadline. Frames that departed
/// senders have left unread also stay in that half, but only until their space is needed: then they are dropped, oldest
/// first. So does the memory that senders share, which may stay for as long as a connection lasts: if its space is
/// needed, it is revoked, largest first, after all unread frames have been dropped.
package struct BudgetMachine: Sendable {
    /// The answer to a request for a large body.
    package enum Answer: Sendable, Hashable {
        case granted
        /// The request waits, under this number.
        case waiting(UInt64)
    }

    /// The effects of a change, in order.
    package struct Effects: Sendable, Hashable {
        /// The departed senders whose frames must be dropped.
        package var evicted: [UInt64] = []
        /// The shared memory to give up.
        package var revoked: [UInt64] = []
        /// The requests that have been granted.
        package var granted: [UInt64] = []
    }

    private struct Request: Sendable {
        let id: UInt64
        let bytes: Int
    }

    /// The total number of bytes.
    package let bytes: Int

    /// The fewest places among which one half is divided.
    package static let fewestPlaces = 8

    /// The places for connections of all servers that listen.
    package private(set) var placeCount = 0

    /// The bytes free for allowances.
    package private(set) var freeForAllowances: Int

    /// The bytes free for large bodies and departed senders.
    package private(set) var free: Int

    private var requests: [Request] = []
    private var departed: [Request] = []
    private var mapped: [Request] = []
    private var lastID: UInt64 = 0

    /// Creates a budget of the given number of bytes.
    package init(bytes: Int) {
        self.bytes = max(0, bytes)
        freeForAllowances = self.bytes / 2
        free = self.bytes / 2
    }

    /// The size of the largest body that can be received.
    package var largestGrant: Int { bytes / 2 }

    /// The number of waiting requests.
    package var requestCount: Int { requests.count }

    /// The bytes taken by frames of departed senders.
    package var departedBytes: Int { departed.reduce(0) { $0 + $1.bytes } }

    /// The bytes of shared memory.
    package var mappedBytes: Int { mapped.reduce(0) { $0 + $1.bytes } }

    /// The number of departed senders with frames left.
    package var departedCount: Int { departed.count }

    /// Adds the places of a server that starts to listen.
    package mutating func open(places: Int) {
        placeCount += Self.countable(places)
    }

    /// Removes the places of a server that no longer listens.
    package mutating func close(places: Int) {
        placeCount -= Self.countable(places)
    }

    private static func countable(_ places: Int) -> Int { max(1, min(places, 1 << 20)) }

    /// Gives a new connection its allowance: less than usual, or nothing, if the connections that were accepted when
    /// fewer servers listened have the rest.
    package mutating func join() -> Int {
        let allowance = min(bytes / 2 / max(Self.fewestPlaces, placeCount), freeForAllowances)
        freeForAllowances -= allowance
        return allowance
    }

    /// Takes back the allowance of a connection that has ended.
    package mutating func leave(_ allowance: Int) {
        freeForAllowances += allowance
    }

    /// Requests a part of the large half, at most ``largestGrant``.
    package mutating func ask(_ bytes: Int) -> (answer: Answer, effects: Effects) {
        var effects = Effects()
        if requests.isEmpty, makeRoomForBody(of: bytes, &effects) {
            free -= bytes
            return (.granted, effects)
        }
        lastID += 1
        requests.append(Request(id: lastID, bytes: bytes))
        return (.waiting(lastID), effects)
    }

    /// Cancels a waiting request.
    package mutating func withdraw(_ id: UInt64) -> Effects {
        requests.removeAll { $0.id == id }
        // Requests behind it may have been waiting only for this one.
        return giveBack(0)
    }

    /// Returns a grant to the budget.
    package mutating func giveBack(_ bytes: Int) -> Effects {
        free += bytes
        var effects = Effects()
        while let first = requests.first, makeRoomForBody(of: first.bytes, &effects) {
            free -= first.bytes
            effects.granted.append(requests.removeFirst().id)
        }
        return effects
    }

    /// Keeps the unread frames of a departed sender, if there is room.
    ///
    /// - Returns: The number under which they are kept; nil if there is no room for them.
    package mutating func depart(_ bytes: Int) -> (id: UInt64?, effects: Effects) {
        count(bytes, in: \.departed)
    }

    /// Forgets a departed sender whose frames have all been consumed.
    package mutating func forget(_ id: UInt64) -> Effects {
        discount(id, in: \.departed)
    }

    /// Counts memory that a sender shares, if there is room.
    ///
    /// - Returns: The number under which it is counted; nil if there is no room for it.
    package mutating func map(_ bytes: Int) -> (id: UInt64?, effects: Effects) {
        count(bytes, in: \.mapped)
    }

    /// Takes back memory that is no longer shared.
    package mutating func unmap(_ id: UInt64) -> Effects {
        discount(id, in: \.mapped)
    }

    /// Counts bytes in a list, if there is room: nothing is taken from waiting requests, nor from shared memory.
    private mutating func count(
        _ bytes: Int,
        in list: WritableKeyPath<Self, [Request]>
    ) -> (id: UInt64?, effects: Effects) {
        var effects = Effects()
        guard requests.isEmpty, makeRoom(for: bytes, &effects) else { return (nil, effects) }
        free -= bytes
        lastID += 1
        self[keyPath: list].append(Request(id: lastID, bytes: bytes))
        return (lastID, effects)
    }

    private mutating func discount(_ id: UInt64, in list: WritableKeyPath<Self, [Request]>) -> Effects {
        guard let index = self[keyPath: list].firstIndex(where: { $0.id == id }) else { return Effects() }
        return giveBack(self[keyPath: list].remove(at: index).bytes)
    }

    /// Makes room for a body: drops departed senders, then revokes shared memory; neither if that would not make enough.
    private mutating func makeRoomForBody(of bytes: Int, _ effects: inout Effects) -> Bool {
        let mappedBytes = mappedBytes
        guard bytes <= free + departedBytes + mappedBytes else { return false }
        if makeRoom(for: bytes, &effects) { return true }
        _ = makeRoom(for: free + departedBytes, &effects)
        mapped.sort { $0.bytes < $1.bytes }
        while free < bytes, let largest = mapped.popLast() {
            free += largest.bytes
            effects.revoked.append(largest.id)
        }
        return true
    }

    /// Drops departed senders, oldest first, until there is room; drops none if that would not make enough.
    private mutating func makeRoom(for bytes: Int, _ effects: inout Effects) -> Bool {
        guard bytes <= free + departedBytes else { return false }
        while free < bytes {
            let oldest = departed.removeFirst()
            free += oldest.bytes
            effects.evicted.append(oldest.id)
        }
        return true
    }
}
