/// Elements under tokens, which are looked up by index and without hashing.
///
/// A token names a slot and how often the slot has been taken: a report that comes late, with the token of an element that
/// was removed, finds nothing. A token comes back after 2^31 uses of its slot. None is 0.
struct SlotTable<Element> {
    private struct Slot {
        /// How often the slot has been taken: odd while it is.
        var generation: UInt32 = 0
        var element: Element?
    }

    private var slots: [Slot] = []
    private var free: [Int] = []

    /// Puts in the element that `make` returns for its token.
    mutating func insert(_ make: (_ token: UInt64) -> Element) -> Element {
        let index = free.popLast() ?? slots.endIndex
        if index == slots.endIndex { slots.append(Slot()) }
        slots[index].generation &+= 1
        let element = make(UInt64(slots[index].generation) << 32 | UInt64(UInt32(truncatingIfNeeded: index)))
        slots[index].element = element
        return element
    }

    /// The element under a token; nil if it has been removed, or there never was one.
    subscript(token: UInt64) -> Element? {
        guard let index = index(of: token) else { return nil }
        return slots[index].element
    }

    /// Takes out the element under a token.
    mutating func remove(_ token: UInt64) -> Element? {
        guard let index = index(of: token) else { return nil }
        slots[index].generation &+= 1
        free.append(index)
        return slots[index].element.take()
    }

    private func index(of token: UInt64) -> Int? {
        let index = Int(truncatingIfNeeded: token & 0xFFFF_FFFF)
        let generation = UInt32(truncatingIfNeeded: token >> 32)
        return index < slots.count && slots[index].generation == generation ? index : nil
    }
}
