/// Decides how much memory messages may take while they are received, over all connections that share a budget.
///
/// One half is for the connections: each has an allowance of it for as long as it lasts, for bodies of a usual size. The
/// other half is for large bodies, which are granted whole and in the order of asking; so they wait for each other and
/// never forever, since one that was begun needs nothing more. What departed senders have left unread stays in that half
/// too, but only while nobody else wants the room: it gives way, oldest first.
package struct BudgetMachine: Sendable {
    /// A request for a large body.
    package enum Answer: Sendable, Hashable {
        case granted
        /// It waits, under this number.
        case waiting(UInt64)
    }

    /// What follows from a change, in order.
    package struct Effects: Sendable, Hashable {
        /// The departed whose frames are to be dropped.
        package var evicted: [UInt64] = []
        /// The requests that have been granted.
        package var granted: [UInt64] = []
    }

    private struct Request: Sendable {
        let id: UInt64
        let bytes: Int
    }

    /// The bytes of all bodies together.
    package let bytes: Int

    /// What allowances are made of.
    package private(set) var freeForAllowances: Int

    /// What large bodies have left, and the departed.
    package private(set) var free: Int

    private var requests: [Request] = []
    private var departed: [Request] = []
    private var lastID: UInt64 = 0

    /// A budget of so many bytes.
    package init(bytes: Int) {
        self.bytes = max(0, bytes)
        freeForAllowances = self.bytes / 2
        free = self.bytes / 2
    }

    /// The largest body that can ever be received.
    package var largestGrant: Int { bytes / 2 }

    /// How many requests wait.
    package var requestCount: Int { requests.count }

    /// What the frames of departed senders take.
    package var departedBytes: Int { departed.reduce(0) { $0 + $1.bytes } }

    /// How many departed senders have frames left.
    package var departedCount: Int { departed.count }

    /// What a connection is allowed without asking, if so many may be connected to its server.
    package static func allowance(of bytes: Int, connections: Int) -> Int {
        bytes / 2 / max(1, min(connections, 1 << 20))
    }

    /// Gives a new connection its allowance: less than usual, or nothing, if other servers have taken the half up.
    package mutating func join(connections: Int) -> Int {
        let allowance = min(Self.allowance(of: bytes, connections: connections), freeForAllowances)
        freeForAllowances -= allowance
        return allowance
    }

    /// Takes back the allowance of a connection that has ended.
    package mutating func leave(_ allowance: Int) {
        freeForAllowances += allowance
    }

    /// Asks for a part of the large half, at most ``largestGrant``.
    package mutating func ask(_ bytes: Int) -> (answer: Answer, effects: Effects) {
        var effects = Effects()
        if requests.isEmpty, makeRoom(for: bytes, &effects) {
            free -= bytes
            return (.granted, effects)
        }
        lastID += 1
        requests.append(Request(id: lastID, bytes: bytes))
        return (.waiting(lastID), effects)
    }

    /// Takes back a request that waits.
    package mutating func withdraw(_ id: UInt64) -> Effects {
        requests.removeAll { $0.id == id }
        // Those behind it may have been waiting for nothing else.
        return giveBack(0)
    }

    /// Takes back what was granted.
    package mutating func giveBack(_ bytes: Int) -> Effects {
        free += bytes
        var effects = Effects()
        while let first = requests.first, makeRoom(for: first.bytes, &effects) {
            free -= first.bytes
            effects.granted.append(requests.removeFirst().id)
        }
        return effects
    }

    /// Keeps the unread frames of a sender that has gone, as far as there is room.
    ///
    /// - Returns: The number under which they are kept; nil if there is no room for them.
    package mutating func depart(_ bytes: Int) -> (id: UInt64?, effects: Effects) {
        var effects = Effects()
        // Nothing is kept at the expense of those who wait.
        guard requests.isEmpty, makeRoom(for: bytes, &effects) else { return (nil, effects) }
        free -= bytes
        lastID += 1
        departed.append(Request(id: lastID, bytes: bytes))
        return (lastID, effects)
    }

    /// Forgets a departed sender whose frames have all been consumed.
    package mutating func forget(_ id: UInt64) -> Effects {
        guard let index = departed.firstIndex(where: { $0.id == id }) else { return Effects() }
        return giveBack(departed.remove(at: index).bytes)
    }

    /// Lets departed senders give way, oldest first, until there is room; none does unless that makes enough.
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
