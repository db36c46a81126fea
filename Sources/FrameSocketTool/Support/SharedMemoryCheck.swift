import FrameSocket

/// Whether images can be sent in shared memory on this system.
enum SharedMemoryCheck {
    static var finding: PathFinding {
        guard SharedMemory.isSupported else {
            return PathFinding(
                .sharedMemory,
                .note,
                "this system has no sealed memory: images are always sent as JPEGs"
            )
        }
        do {
            _ = try SharedMemory(byteCount: 4096)
            return PathFinding(.sharedMemory, .note, "images can be sent in shared memory (--shared)")
        } catch {
            return PathFinding(
                .sharedMemory,
                .warning,
                "no memory can be shared (\(error)): images are sent as JPEGs",
                remedy: "raise the limits on memory and descriptors, and allow memfd_create if a sandbox forbids it"
            )
        }
    }
}

extension PathFinding.Code {
    /// Whether memory can be shared with a receiver.
    static let sharedMemory = PathFinding.Code("memory.shared")
}
