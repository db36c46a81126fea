import FrameSocket

/// Whether images can be sent in shared memory on this system.
enum SharedMemoryCheck {
    static var finding: PathDiagnosis.Finding {
        guard SharedMemory.isSupported else {
            return PathDiagnosis.Finding(
                .sharedMemory,
                .note,
                "this system has no sealed memory: images are always sent as JPEGs"
            )
        }
        do {
            _ = try SharedMemory(byteCount: 4096)
            return PathDiagnosis.Finding(.sharedMemory, .note, "images can be sent in shared memory (--shared)")
        } catch {
            return PathDiagnosis.Finding(
                .sharedMemory,
                .warning,
                "no memory can be shared (\(error)): images are sent as JPEGs",
                remedy: "raise the limits on memory, descriptors and file sizes; allow memfd_create if it is forbidden"
            )
        }
    }
}

extension PathDiagnosis.Finding.Code {
    /// Whether memory can be shared with a receiver.
    static let sharedMemory = PathDiagnosis.Finding.Code("memory.shared")
}

extension SocketEndpoint {
    /// Checks that memory can be shared there.
    func checkSharesMemory() throws(UsageError) {
        guard case .loopback = self else { return }
        throw UsageError(message: "--shared requires a path: no memory can be shared over tcp:")
    }
}
