import FrameSocket

/// Whether images can be sent in shared memory on this system.
enum SharedMemoryCheck {
    static var finding: DoctorCommand.Finding {
        let code = "memory.shared"
        guard SharedMemory.isSupported else {
            return .init(.note, code, "this system has no sealed memory: images are always sent as JPEGs")
        }
        do {
            _ = try SharedMemory(byteCount: 4096)
            return .init(.note, code, "images can be sent in shared memory (--shared)")
        } catch {
            return .init(
                .warning,
                code,
                "no memory can be shared (\(error)): images are sent as JPEGs",
                remedy: "raise the limits on memory, descriptors and file sizes; allow memfd_create if it is forbidden"
            )
        }
    }
}

extension SocketEndpoint {
    /// Checks that memory can be shared there.
    func checkSharesMemory() throws(UsageError) {
        guard case .loopback = self else { return }
        throw UsageError(message: "--shared requires a path: no memory can be shared over tcp:")
    }
}
