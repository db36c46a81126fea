import Foundation
import FrameSocketTesting

@testable import FrameTransport

extension PeerSocket {
    /// A stream socket that is neither connected nor bound.
    static func unconnected(isLocal: Bool = true) -> PeerSocket {
        #if os(Linux)
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        #else
            let type = SOCK_STREAM
        #endif
        return PeerSocket(descriptor: socket(isLocal ? AF_UNIX : AF_INET, type, 0))
    }

    /// A socket that is bound to a path but does not listen: its file exists, and connections are refused.
    static func bound(to path: String) throws -> PeerSocket {
        let socket = unconnected()
        try socket.bind(to: path)
        return socket
    }

    func bind(to path: String) throws {
        try Syscalls.bindSocket(descriptor, to: SocketAddress(.path(path)))
    }

    func connect(to path: String) throws {
        try Syscalls.connectSocket(descriptor, to: SocketAddress(.path(path)))
    }
}
