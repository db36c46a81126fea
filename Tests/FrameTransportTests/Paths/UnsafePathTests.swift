#if os(Linux)
    import Foundation
    import FrameSocketTesting
    import FrameTransport
    import TestSupport
    import Testing

    /// Who else could tamper with a server's path: the owner and mode of its directory, and what exists there.
    @Suite(.timeLimit(.minutes(5)), .besideBystander) struct UnsafePathTests {
        let directory: TemporaryDirectory

        /// Some user who is neither this one nor root.
        private static let stranger: UInt32 = 65_534

        init() throws {
            directory = try TemporaryDirectory()
        }

        private func give(_ path: String, to user: UInt32) {
            #expect(unsafe lchown(path, user, user) == 0)
        }

        @Test(arguments: [0o770, 0o702, 0o777, 0o2775] as [mode_t])
        func `a directory that others may write to is refused, with the remedy`(mode: mode_t) throws {
            #expect(unsafe chmod(directory.path, mode) == 0)
            let error = try #require(failure(at: directory.socket))
            #expect(error.code == .unsafePath && error.path == directory.socket)
            #expect(error.description.contains("has mode \(String(mode, radix: 8))"))
            let remedy = "run: chmod go-w -- \(directory.path)"
            #expect(error.remedy == remedy && error.description.hasSuffix("; \(remedy)"))
            #expect(directory.names.isEmpty)
            // The remedy fixes it.
            #expect(unsafe chmod(directory.path, mode & ~0o022) == 0)
            #expect(failure(at: directory.socket) == nil)
        }

        @Test(arguments: [0o1777, 0o1770, 0o755, 0o500 | 0o200, 0o711] as [mode_t])
        func `a directory with the sticky bit is accepted like one's own`(mode: mode_t) throws {
            #expect(unsafe chmod(directory.path, mode) == 0)
            #expect(failure(at: directory.socket) == nil)
        }

        @Test(.enabled(if: geteuid() == 0, "only root may give files away"))
        func `another user's directory is refused`() throws {
            give(directory.path, to: Self.stranger)
            let error = try #require(failure(at: directory.socket))
            #expect(error.code == .unsafePath)
            #expect(error.description.contains("\(directory.path) belongs to user \(Self.stranger)"))
            #expect(directory.names.isEmpty)
        }

        @Test func `a directory owned by root is accepted like one's own`() async {
            await #expect(processExitsWith: .success) {
                let bystander = try await Bystander()
                let directory = try TemporaryDirectory()
                #expect(unsafe chmod(directory.path, 0o1777) == 0)
                if geteuid() == 0 { #expect(seteuid(65_534) == 0) }
                let server = try directory.server()
                server.close()
                try await server.closed()
                #expect(directory.names.isEmpty)
                _ = seteuid(getuid())
                try await bystander.exchange(0)
            }
        }

        @Test(.enabled(if: geteuid() == 0, "only root may give files away"), arguments: [false, true])
        func `another user's socket is left alone, dead or alive`(isAlive: Bool) throws {
            let server = try isAlive ? PeerSocket.listening(at: directory.socket) : .bound(to: directory.socket)
            give(directory.socket, to: Self.stranger)
            let error = try #require(failure(at: directory.socket))
            #expect(error.code == .unsafePath)
            #expect(error.description.contains("belongs to user \(Self.stranger)"))
            #expect(directory.names == ["rtc_SSFD"])
            _ = server
        }

        enum LockFile: CaseIterable {
            case link, danglingLink, directory, pipe, secondName, socket, ofAnother, withBytes
        }

        /// Shows P240.
        @Test(arguments: LockFile.allCases)
        func `a file that is not this user's lock file is neither opened nor removed`(kind: LockFile) throws {
            let lock = directory.socket + ".lock"
            let target = directory.path + "/target"
            let files = FileManager.default
            if kind != .danglingLink { try Data("mine".utf8).write(to: URL(filePath: target)) }
            _ = unsafe chmod(target, 0o644)
            switch kind {
            case .link, .danglingLink: try files.createSymbolicLink(atPath: lock, withDestinationPath: target)
            case .directory: try files.createDirectory(atPath: lock, withIntermediateDirectories: false)
            case .pipe: #expect(unsafe mkfifo(lock, 0o600) == 0)
            case .secondName: try files.linkItem(atPath: target, toPath: lock)
            case .socket: _ = try PeerSocket.listening(at: lock)
            // Such as Cargo.lock beside a socket named Cargo.
            case .withBytes: try files.moveItem(atPath: target, toPath: lock)
            case .ofAnother:
                if geteuid() != 0 { try Test.cancel("only root may give files away") }
                try Data().write(to: URL(filePath: lock))
                give(lock, to: Self.stranger)
            }
            let before = directory.names
            let error = try #require(failure(at: directory.socket))
            #expect(error.code == .unsafePath)
            #expect(error.description.contains("\(lock), which a server locks, is not an empty, singly linked file"))
            #expect(directory.names == before)
            guard kind != .danglingLink else { return }
            let file = kind == .withBytes ? lock : target
            #expect(try Data(contentsOf: URL(filePath: file)) == Data("mine".utf8))
            #expect(try files.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o644)
        }

        @Test(arguments: [0o000, 0o644, 0o666] as [mode_t])
        func `a lock file of this user is made private`(mode: mode_t) throws {
            let lock = directory.socket + ".lock"
            try Data().write(to: URL(filePath: lock))
            if mode == 0, geteuid() != 0 { try Test.cancel("only root may open a file that nobody may") }
            #expect(unsafe chmod(lock, mode) == 0)
            let server = try directory.server()
            #expect(try FileManager.default.attributesOfItem(atPath: lock)[.posixPermissions] as? Int == 0o600)
            _ = server
        }

        @Test(arguments: [false, true])
        func `a directory that this user may not write to is reported as such`(isReadOnly: Bool) async {
            await #expect(processExitsWith: .success) { [isReadOnly] in
                let bystander = try await Bystander()
                let directory = try TemporaryDirectory()
                let inner = directory.path + "/inner"
                #expect(unsafe mkdir(inner, 0o700) == 0)
                // Root may everything, so that this has to be somebody else.
                if geteuid() == 0 {
                    for path in [directory.path, inner] { #expect(unsafe chown(path, 65_534, 65_534) == 0) }
                    #expect(seteuid(65_534) == 0)
                }
                #expect(unsafe chmod(isReadOnly ? inner : directory.path, isReadOnly ? 0o500 : 0) == 0)
                let error = #expect(throws: TransportError.self) { try FrameServer(at: inner + "/socket") }
                #expect(error?.code == .cannotCreate)
                #expect(error?.underlyingErrno == EACCES)
                let facts = "find or create files in \(inner), which belongs to user \(geteuid()) and has mode 500"
                let words = isReadOnly ? facts : "reach the directory \(inner)"
                #expect(error?.message.hasPrefix("you (user \(geteuid())) may not \(words); ") == true)
                #expect(unsafe chmod(directory.path, 0o700) == 0)
                #expect(try FileManager.default.contentsOfDirectory(atPath: inner).isEmpty)
                _ = seteuid(getuid())
                try await bystander.exchange(0)
            }
        }

        @Test func `what this user may not do is told to a sender, and before anything else about a directory`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let inner = directory.path + "/inner"
                #expect(unsafe mkdir(inner, 0o700) == 0)
                let server = try PeerSocket.listening(at: inner + "/s")
                #expect(unsafe chmod(inner + "/s", 0) == 0)
                // Root may everything, so that this has to be somebody else.
                if geteuid() == 0 {
                    for path in [directory.path, inner] { #expect(unsafe chown(path, 65_534, 65_534) == 0) }
                    #expect(seteuid(65_534) == 0)
                }
                let connection = SocketConnection(path: inner + "/s")
                let refused = await #expect(throws: TransportError.self) { try await connection.open(within: .zero) }
                #expect(refused?.code == .openTimedOut && refused?.underlyingErrno == EACCES)
                #expect(refused?.message.contains(": you may not connect to the socket") == true)
                #expect(refused?.remedy?.hasSuffix(": ls -l \(inner)/s") == true)
                // A directory in which only a service manager creates sockets is as good for senders as any other.
                #expect(unsafe chmod(inner, 0o500) == 0)
                try FrameServer.checkPlace(at: inner + "/s")
                let readOnly = #expect(throws: TransportError.self) { try FrameServer.tryClaim(at: inner + "/other") }
                #expect(readOnly?.remedy == "run: chmod u+wx -- \(inner)")
                // Who may not even look there learns that first.
                #expect(unsafe chmod(inner, 0o422) == 0)
                let closed = #expect(throws: TransportError.self) { try FrameServer.checkPlace(at: inner + "/s") }
                #expect(closed?.code == .cannotCreate && closed?.message.contains("has mode 422; run: chmod") == true)
                #expect(unsafe chmod(inner, 0o700) == 0)
                _ = seteuid(getuid())
                withExtendedLifetime(server) {}
            }
        }

        @Test func `a claim that is only tried leaves a dead socket and an old lock as they are`() throws {
            try PeerSocket.listening(at: directory.socket).close()
            try Data().write(to: URL(filePath: directory.socket + ".lock"))
            let state = {
                try directory.names.map { name in
                    let facts = try FileManager.default.attributesOfItem(atPath: "\(directory.path)/\(name)")
                    return facts as NSDictionary
                }
            }
            let before = try state()
            try FrameServer.checkPlace(at: directory.socket)
            try FrameServer.tryClaim(at: directory.socket)
            #expect(directory.names == ["rtc_SSFD", "rtc_SSFD.lock"])
            #expect(try state() == before)
        }
    }
#endif
