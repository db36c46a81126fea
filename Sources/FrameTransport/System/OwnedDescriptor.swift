/// A descriptor with one owner, closed when the owner lets go of it.
struct OwnedDescriptor: ~Copyable {
    /// The number, for system calls while the owner is alive; below 0 if none could be had.
    let rawValue: Int32

    init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    deinit {
        guard rawValue >= 0 else { return }
        // Never retried: on Linux the number is free again even after EINTR, and may be somebody else's.
        Syscalls.closeDescriptor(rawValue)
    }
}
