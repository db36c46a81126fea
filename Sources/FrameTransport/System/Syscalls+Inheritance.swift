internal import CFrameTransport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The sockets and variables that a process inherits.
extension Syscalls {
    /// The properties of an inherited socket.
    struct Listener {
        enum Address {
            case path(String)
            case loopback(port: UInt16)
            case other
        }

        let address: Address
        let isStream: Bool
        let isListening: Bool
    }

    /// The first descriptor that a service manager passes: `SD_LISTEN_FDS_START`.
    static let firstPassed: Int32 = 3

    /// The maximum number of descriptors accepted; systemd passes far fewer.
    static let maximumPassed: Int32 = 1 << 16

    static var processID: Int32 { getpid() }

    static func environment(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    static func setCloseOnExec(_ descriptor: Int32) throws(Errno) {
        _ = try retrying { fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }

    /// Prepares an inherited listening socket for the I/O thread.
    static func adoptListener(_ descriptor: Int32) throws(Errno) {
        _ = try retrying { frame_listener_adopt(descriptor) }
    }

    static func listener(_ descriptor: Int32) throws(Errno) -> Listener {
        var found = frame_listener()
        let path = try unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text throws(Errno) in
            _ = try retrying { unsafe frame_listener_inspect(descriptor, &found, text.baseAddress, text.count) }
            return unsafe text.baseAddress.map { unsafe String(cString: $0) } ?? ""
        }
        let address: Listener.Address =
            switch found.family {
            case AF_UNIX: .path(path)
            case AF_INET where found.is_loopback: .loopback(port: found.port)
            default: .other
            }
        return Listener(address: address, isStream: found.is_stream, isListening: found.is_listening)
    }
}
