import Foundation
package import FrameSocketTesting

extension PeerSocket {
    /// Writes all bytes, and passes descriptors with the first one, at most 253 of them.
    package func write(_ bytes: [UInt8], passing descriptors: [Int32]) async throws {
        // A header and the descriptors: what `CMSG_LEN` lays out, which Swift does not import.
        var header = cmsghdr()
        header.cmsg_len = numericCast(MemoryLayout<cmsghdr>.size + descriptors.count * MemoryLayout<Int32>.size)
        header.cmsg_level = SOL_SOCKET
        header.cmsg_type = Int32(SCM_RIGHTS)
        var control = unsafe withUnsafeBytes(of: &header) { unsafe Array($0) }
        unsafe descriptors.withUnsafeBytes { unsafe control += $0 }
        if descriptors.isEmpty { control = [] }
        var count = send(bytes, control)
        while count < 0, errno == EAGAIN {
            try await Task.sleep(for: .milliseconds(1))
            count = send(bytes, control)
        }
        guard count >= 0 else { throw PeerError(.system, underlyingErrno: errno, "'sendmsg' failed") }
        try await write(Array(bytes[count...]))
    }

    /// Sends what the socket has room for.
    private func send(_ bytes: [UInt8], _ control: [UInt8]) -> Int {
        var (bytes, control) = (bytes, control)
        return unsafe bytes.withUnsafeMutableBytes { bytes in
            unsafe control.withUnsafeMutableBytes { control in
                var run = unsafe iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return unsafe withUnsafeMutablePointer(to: &run) { run in
                    var message = unsafe msghdr()
                    unsafe message.msg_iov = run
                    unsafe message.msg_iovlen = 1
                    unsafe message.msg_control = control.isEmpty ? nil : control.baseAddress
                    unsafe message.msg_controllen = numericCast(control.count)
                    #if os(Linux)
                        let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
                    #else
                        let flags = MSG_DONTWAIT
                    #endif
                    return unsafe sendmsg(descriptor, &message, flags)
                }
            }
        }
    }
}

extension PeerMessage {
    /// The announcement of a shared buffer, whose descriptor is passed with the first byte.
    package static func sharedBuffer(_ index: Int, byteCount: Int) -> PeerMessage {
        let fields = [
            (name: "Message-Type", value: "shared-buffer"), (name: "Shared-Buffer", value: "\(index)"),
            (name: "Shared-Bytes", value: "\(byteCount)"),
        ]
        return PeerMessage(startLine: "HTTP/1.1 200 OK", fields: fields)
    }

    /// A frame in a shared buffer, with the offset and the bytes per row of each plane.
    package static func sharedFrame(
        in buffer: Int,
        format: String,
        width: Int,
        height: Int,
        planes: [(offset: Int, bytesPerRow: Int)],
        sequence: UInt64? = nil
    ) -> PeerMessage {
        var fields = [
            (name: "Message-Type", value: "shared-frame"), (name: "Shared-Buffer", value: "\(buffer)"),
            (name: "Buffer-Width", value: "\(width)"), (name: "Buffer-Height", value: "\(height)"),
            (name: "Buffer-Orientation", value: "1"), (name: "Shared-Format", value: format),
        ]
        for (index, plane) in planes.enumerated() {
            let suffix = index == 0 ? "" : "-\(index + 1)"
            fields.append((name: "Shared-Offset\(suffix)", value: "\(plane.offset)"))
            fields.append((name: "Shared-Stride\(suffix)", value: "\(plane.bytesPerRow)"))
        }
        if let sequence { fields.append((name: "Buffer-Sequence", value: "\(sequence)")) }
        return PeerMessage(startLine: "HTTP/1.1 200 OK", fields: fields)
    }
}
