/// A table of elements under tokens, which are looked up by index, without hashing.
///
/// A token consists of a slot and its number of uses: a late report with the token of a removed element finds nothing.
/// A token recurs after 2^31 uses of its slot. No token is 0.
struct SlotTable<Element> {
    private struct Slot {
        /// The use count of the slot: odd while it is in use.
        var generation: UInt32 = 0
        var element: Element?
    }

    private var slots: [Slot] = []
    private var free: [Int] = []

    /// The number of elements.
    var count: Int { slots.count - free.count }

    /// Inserts the element that `make` returns for its token.
    mutating func insert(_ make: (_ token: UInt64) -> Element) -> Element {
        let index = free.popLast() ?? slots.endIndex
        if index == slots.endIndex { slots.append(Slot()) }
        slots[index].generation &+= 1
        let element = make(UInt64(slots[index].generation) << 32 | UInt64(UInt32(truncatingIfNeeded: index)))
        slots[index].element = element
        return element
    }

    /// Returns the element under a token; nil if it has been removed, or never existed.
    subscript(token: UInt64) -> Element? {
        guard let index = index(of: token) else { return nil }
        return slots[index].element
    }

    /// Removes the element under a token.
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
