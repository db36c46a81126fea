import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }

private func systemConnect(_ socket: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    unsafe connect(socket, address, length)
}

/// A socket that is handled by plain blocking calls: a peer that shares no code with what is tested.
///
/// Each call runs on a thread of its own, so that it never holds up the tests' own tasks.
final class RawSocket: @unchecked Sendable {
    let descriptor: Int32
    private let isClosed = Mutex(false)

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close()
    }

    /// Closes the socket, as the end of its process would.
    ///
    /// Nothing else is called after it.
    func close() {
        isClosed.withLock { isClosed in
            if !isClosed { _ = systemClose(descriptor) }
            isClosed = true
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let call: String
        let code: Int32
        var description: String { "\(call): \(unsafe String(cString: strerror(code)))" }
    }

    /// A socket that is to be connected later.
    static func unconnected(_ family: Int32 = AF_UNIX) throws -> RawSocket {
        #if canImport(Glibc)
            let type = Int32(SOCK_STREAM.rawValue)
        #else
            let type = SOCK_STREAM
        #endif
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
        return RawSocket(descriptor: descriptor)
    }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        return unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Connects to a server.
    static func connected(to path: String) throws -> RawSocket {
        let socket = try unconnected()
        try socket.connect(to: path)
        return socket
    }

    /// Connects to a server.
    func connect(to path: String) throws {
        guard unsafe Self.withAddress(path, { unsafe systemConnect(descriptor, $0, $1) }) == 0 else {
            throw Failure(call: "connect", code: errno)
        }
    }

    /// Binds to a path, and listens unless told not to.
    static func bound(to path: String, backlog: Int32 = 16, listening: Bool = true) throws -> RawSocket {
        let socket = try unconnected()
        guard unsafe withAddress(path, { unsafe bind(socket.descriptor, $0, $1) }) == 0 else {
            throw Failure(call: "bind", code: errno)
        }
        if listening { _ = listen(socket.descriptor, backlog) }
        return socket
    }

    /// Calls `body` with a port of the loopback address.
    private static func withAddress(port: UInt16, _ body: (UnsafeMutablePointer<sockaddr>) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0) }
        }
    }

    /// Listens at a port of the loopback address, which the system chooses.
    static func boundToPort(backlog: Int32) throws -> RawSocket {
        let socket = try unconnected(AF_INET)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard unsafe withAddress(port: 0, { unsafe bind(socket.descriptor, $0, length) }) == 0,
            listen(socket.descriptor, backlog) == 0
        else { throw Failure(call: "listen", code: errno) }
        return socket
    }

    /// The port that it listens at.
    var port: UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Begins to connect to a port, and waits for nothing.
    static func connecting(toPort port: UInt16) throws -> RawSocket {
        let socket = try unconnected(AF_INET)
        _ = fcntl(socket.descriptor, F_SETFL, O_NONBLOCK)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = unsafe withAddress(port: port) { unsafe systemConnect(socket.descriptor, $0, length) }
        return socket
    }

    /// Waits for a client.
    func accepted() async throws -> RawSocket {
        try await blocking {
            let descriptor = accept(self.descriptor, nil, nil)
            guard descriptor >= 0 else { throw Failure(call: "accept", code: errno) }
            return RawSocket(descriptor: descriptor)
        }
    }

    /// Writes all of `bytes`, at most `chunk` in one call.
    func write(_ bytes: [UInt8], chunk: Int = .max) async throws {
        try await blocking {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = unsafe rest.prefix(chunk).withUnsafeBytes {
                    unsafe send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Failure(call: "send", code: errno) }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Reads what is there, at most `limit` bytes; none where the peer has ended.
    func readSome(upTo limit: Int) async throws -> [UInt8] {
        try await blocking {
            var buffer = [UInt8](repeating: 0, count: limit)
            let got = unsafe buffer.withUnsafeMutableBytes { unsafe recv(self.descriptor, $0.baseAddress, limit, 0) }
            guard got >= 0 else { throw Failure(call: "recv", code: errno) }
            return Array(buffer[..<got])
        }
    }

    /// Reads `count` bytes, or fewer where the peer ends before: also by a reset, which is how an end looks that left bytes unread.
    func read(_ count: Int) async throws -> [UInt8] {
        try await blocking {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: min(count, 1 << 16))
            while bytes.count < count {
                let wanted = min(buffer.count, count - bytes.count)
                let got = unsafe buffer.withUnsafeMutableBytes {
                    unsafe recv(self.descriptor, $0.baseAddress, wanted, 0)
                }
                if got == 0 || (got < 0 && errno == ECONNRESET) { break }
                guard got > 0 else { throw Failure(call: "recv", code: errno) }
                bytes += buffer[..<got]
            }
            return bytes
        }
    }

    /// Whether nothing is there to read, the end included.
    var isQuiet: Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&state, 1, 0) == 0
    }

    /// Says that nothing more will be sent.
    func finishWriting() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    private func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        let outcome = Outcome<Value>()
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                outcome.value = Result { try body() }
                continuation.resume()
            }
        }
        return try outcome.value.get()
    }
}

/// What a thread hands over, behind a lock: the continuation does so too, but ThreadSanitizer does not always see it.
private final class Outcome<Value: Sendable>: @unchecked Sendable {
    private struct Missing: Error {}

    private let lock = NSLock()
    private var result = Result<Value, any Error>.failure(Missing())

    var value: Result<Value, any Error> {
        get { lock.withLock { result } }
        set { lock.withLock { result = newValue } }
    }
}
