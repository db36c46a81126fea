extension PathFinding {
    /// What was found.
    ///
    /// More may come; compare with `==`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// A stable name, for logs and scripts.
        public let rawValue: String

        /// A code by its name; a program's own should not begin as one of these do.
        public init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// The stable name.
        public var description: String { rawValue }

        // MARK: The path

        /// The path is empty, ends with a slash or contains a NUL byte: `path.invalid`.
        public static let invalidPath = Code("path.invalid")
        /// The path has more bytes than a socket's may have; `bytes` and `limit`, and on Linux `nameBytes` and `nameLimit`.
        public static let pathTooLong = Code("path.tooLong")
        /// The path has more bytes than the system takes whole, and goes by its directory's descriptor; `bytes`, `limit`.
        public static let longPath = Code("path.long")
        /// Nothing stands at the path.
        public static let freePath = Code("path.free")
        /// A symbolic link stands at the path; it was not followed.
        public static let symbolicLink = Code("path.symlink")
        /// Something else that is not a socket stands at the path.
        public static let notASocket = Code("path.notASocket")
        /// What stands at `PATH.lock` is no lock file of this user's.
        public static let unusableLock = Code("path.lockUnusable")
        /// A process holds the lock file beside the path, at which nobody listens.
        public static let heldLock = Code("path.lockHeld")

        // MARK: The directory

        /// The directory is not there.
        public static let missingDirectory = Code("directory.missing")
        /// A part of the path is no directory.
        public static let notADirectory = Code("directory.notADirectory")
        /// This user may not look into the directory, or it cannot be opened.
        public static let closedDirectory = Code("directory.noAccess")
        /// This user may make nothing in the directory; `mode`, `uid`.
        public static let readOnlyDirectory = Code("directory.notWritable")
        /// Users other than its owner and root may replace what is in the directory; `mode`, `uid`.
        public static let openDirectory = Code("directory.openToOthers")
        /// The directory belongs to a user who is neither this one nor root; `uid`.
        public static let foreignDirectory = Code("directory.ofAnotherUser")

        // MARK: The socket

        /// Nobody listens at the socket.
        public static let deadSocket = Code("socket.dead")
        /// Nobody listens at the socket, and it is another user's; `uid`.
        public static let foreignSocket = Code("socket.ofAnotherUser")
        /// This user may not connect to the socket; `mode`, `uid`.
        public static let closedSocket = Code("socket.noAccess")
        /// The socket is for datagrams or packets, not a stream.
        public static let wrongType = Code("socket.wrongType")

        // MARK: The server

        /// A server listens and takes connections; `pid`, `uid`.
        public static let liveServer = Code("server.live")
        /// A server listens and does not take connections; `pid` and `uid` if they are known.
        public static let silentServer = Code("server.noAnswer")
        /// A server listens and closes a new connection before it reads anything; `pid`, `uid`.
        public static let turningServer = Code("server.turnsAway")
        /// The server belongs to a user whom this one does not deal with; `pid`, `uid`.
        public static let refusedPeer = Code("peer.refused")

        // MARK: The system

        /// There are descriptors enough; `open`, `limit`, and `pid` of another process.
        public static let descriptors = Code("descriptors.free")
        /// A process has few descriptors left; `open`, `limit`, and `pid` of another process.
        public static let fewDescriptors = Code("descriptors.few")
        /// The system answered as none of these codes says; `errno`.
        public static let system = Code("system")
    }
}
