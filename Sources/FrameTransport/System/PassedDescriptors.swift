/// The descriptors that a peer has passed ahead of their announcements, in order.
///
/// There are two at most: one for the header in progress, and one that arrived in the same read as the rest of it. Of
/// those that arrive together only the first is kept, because an announcement cannot have more.
struct PassedDescriptors: ~Copyable {
    /// The number that have arrived since the last ``takeArrivals()``.
    private var count = 0
    private var areLost = false
    private var first: OwnedDescriptor?
    private var second: OwnedDescriptor?

    /// Keeps the first of the descriptors that have just arrived; `areLost` if this process had no room for others.
    mutating func add(count: Int, first descriptor: Int32, areLost: Bool) {
        self.count += count
        self.areLost = self.areLost || areLost
        guard count > 0 else { return }
        if first == nil { first = OwnedDescriptor(descriptor) } else { second = OwnedDescriptor(descriptor) }
    }

    /// Returns how many have arrived since the last call, and whether others were lost on this side.
    mutating func takeArrivals() -> (count: Int, areLost: Bool) {
        defer { (count, areLost) = (0, false) }
        return (count, areLost)
    }

    /// Removes the first descriptor.
    mutating func take() -> OwnedDescriptor? {
        let taken = first.take()
        first = second.take()
        return taken
    }

    /// Closes all descriptors.
    mutating func removeAll() {
        first = nil
        second = nil
    }
}
