#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The error of a failed system call.
package struct Errno: Error, Sendable, Hashable, CustomStringConvertible {
    /// The value of `errno`.
    package let rawValue: Int32

    package init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    static var current: Errno { Errno(errno) }

    package static let again = Errno(EAGAIN)
    package static let inProgress = Errno(EINPROGRESS)
    package static let noEntry = Errno(ENOENT)
    package static let refused = Errno(ECONNREFUSED)
    package static let reset = Errno(ECONNRESET)
    package static let brokenPipe = Errno(EPIPE)
    package static let aborted = Errno(ECONNABORTED)
    package static let addressInUse = Errno(EADDRINUSE)
    package static let accessDenied = Errno(EACCES)
    package static let notPermitted = Errno(EPERM)
    package static let symlinkLoop = Errno(ELOOP)
    package static let notDirectory = Errno(ENOTDIR)
    package static let wrongType = Errno(EPROTOTYPE)
    package static let notSupported = Errno(EOPNOTSUPP)
    package static let noSystemCall = Errno(ENOSYS)
    package static let inputOutput = Errno(EIO)
    package static let readOnlyFileSystem = Errno(EROFS)
    package static let noSpace = Errno(ENOSPC)
    package static let overQuota = Errno(EDQUOT)
    package static let busy = Errno(EBUSY)

    /// Whether the descriptor is of the wrong kind for the call, which waiting cannot fix.
    var isMisuse: Bool { [EBADF, EINVAL, ENOTSOCK, EOPNOTSUPP].contains(rawValue) }

    /// The system's description, for example "Connection refused".
    package var description: String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
            guard let base = text.baseAddress, unsafe strerror_r(rawValue, base, text.count) == 0 else {
                return "system error \(rawValue)"
            }
            return unsafe String(cString: base)
        }
    }
}
