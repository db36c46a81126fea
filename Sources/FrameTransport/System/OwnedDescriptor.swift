/// A descriptor with one owner, closed when the owner releases it.
struct OwnedDescriptor: ~Copyable {
    /// The number, for system calls while the owner is alive; negative if there is no descriptor.
    let rawValue: Int32

    init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    deinit {
        guard rawValue >= 0 else { return }
        // Never retried: on Linux the number is free again even after EINTR, and may have been reused.
        Syscalls.closeDescriptor(rawValue)
    }
}
