import Foundation
import FrameSocketTesting
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A connection to the page of a preview that writes what it is told, whether HTTP allows that or not.
struct PageConnection {
    let socket: PeerSocket

    /// Connects to a port at a numeric address, of either version of IP.
    init(to port: Int, at address: String = "127.0.0.1") throws {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_NUMERICHOST
        var found: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(address, "\(port)", &hints, &found) == 0, let first = unsafe found else {
            throw SystemFailure(call: "getaddrinfo \(address)", error: EINVAL)
        }
        defer { unsafe freeaddrinfo(first) }
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        let descriptor = unsafe Self.socket(first.pointee.ai_family, kind)
        guard descriptor >= 0 else { throw SystemFailure(call: "socket", error: errno) }
        guard unsafe connect(descriptor, first.pointee.ai_addr, first.pointee.ai_addrlen) == 0 else {
            let error = errno
            close(descriptor)
            throw SystemFailure(call: "connect \(address)", error: error)
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        socket = PeerSocket(descriptor: descriptor)
    }

    private static func socket(_ family: Int32, _ kind: Int32) -> Int32 {
        #if canImport(Glibc)
            Glibc.socket(family, kind, 0)
        #elseif canImport(Musl)
            Musl.socket(family, kind, 0)
        #else
            Darwin.socket(family, kind, 0)
        #endif
    }

    /// Writes text as it is.
    func write(_ text: String) async throws {
        try await socket.write(Array(text.utf8))
    }

    /// The status line of an answer that begins with what is read next.
    func statusLine() async throws -> String {
        let bytes = try await socket.readSome(upTo: 100)
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
    }

    /// Whether the other end has not closed the connection.
    ///
    /// It takes a byte of an answer, if there is one.
    func isOpen() async -> Bool {
        if socket.isQuiet { return true }
        return (try? await socket.readSome(upTo: 1))?.isEmpty == false
    }
}
