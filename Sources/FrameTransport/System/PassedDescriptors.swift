/// The descriptors that a peer has passed, of which at most one can be of use.
struct PassedDescriptors: ~Copyable {
    /// The number that have arrived since the last ``takeArrivals()``.
    private var count = 0
    private var areLost = false
    private var first: OwnedDescriptor?

    /// Keeps the first of the descriptors that have just arrived; `areLost` if this process had no room for others.
    mutating func add(count: Int, first: Int32, areLost: Bool) {
        self.count += count
        self.areLost = self.areLost || areLost
        if count > 0 { self.first = OwnedDescriptor(first) }
    }

    /// Returns how many have arrived since the last call, and whether others were lost on this side.
    mutating func takeArrivals() -> (count: Int, areLost: Bool) {
        defer { (count, areLost) = (0, false) }
        return (count, areLost)
    }

    /// Removes the descriptor that was kept.
    mutating func take() -> OwnedDescriptor? { first.take() }
}
