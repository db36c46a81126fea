import FrameSocketTesting
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What one `recvmsg` returns: some bytes, and the descriptors passed with them.
struct ReceivedDescriptors {
    private(set) var descriptors: [Int32] = []
    private(set) var byteCount = 0

    /// Waits for bytes, and receives them.
    ///
    /// It does not wait in `recvmsg`: the other side may need the thread.
    init(from socket: PeerSocket) async throws {
        try #require(await becomesTrue { Self.isReadable(socket.descriptor) })
        var bytes = [UInt8](repeating: 0, count: 1000)
        // Room for a header and 253 descriptors.
        var control = [UInt64](repeating: 0, count: 160)
        var received = unsafe msghdr()
        let count = unsafe bytes.withUnsafeMutableBytes { bytes in
            unsafe control.withUnsafeMutableBytes { control in
                var run = unsafe iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return unsafe withUnsafeMutablePointer(to: &run) { run in
                    unsafe received.msg_iov = run
                    unsafe received.msg_iovlen = 1
                    unsafe received.msg_control = control.baseAddress
                    unsafe received.msg_controllen = numericCast(control.count)
                    return unsafe recvmsg(socket.descriptor, &received, 0)
                }
            }
        }
        try #require(count > 0)
        byteCount = count
        let length = unsafe Int(received.msg_controllen) == 0 ? 0 : Int(truncatingIfNeeded: control[0] & 0xFFFF_FFFF)
        // CMSG_DATA: behind a length and two numbers, 16 bytes on Linux and 12 on Apple systems.
        let start = MemoryLayout<cmsghdr>.size
        unsafe control.withUnsafeBytes { control in
            for offset in stride(from: start, to: length, by: 4) {
                unsafe descriptors.append(control.loadUnaligned(fromByteOffset: offset, as: Int32.self))
            }
        }
    }

    private static func isReadable(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, 0) > 0
    }
}
