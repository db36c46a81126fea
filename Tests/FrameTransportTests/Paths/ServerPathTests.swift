import Foundation
import FrameSocketTesting
import FrameTransport
import TestSupport
import Testing

/// What a server does with what exists at its path, and what it leaves there.
@Suite(.timeLimit(.minutes(5)), .besideBystander) struct ServerPathTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// The mode and inode of what exists at the socket's path.
    private func entry(_ path: String? = nil) -> stat? {
        var status = stat()
        return unsafe lstat(path ?? directory.socket, &status) == 0 ? status : nil
    }

    @Test func `a path may have at most 107 bytes in UTF-8`() throws {
        let room = 107 - directory.path.utf8.count - 1
        for name in [String(repeating: "x", count: room), String(repeating: "ü", count: room / 2)] {
            let server = try FrameServer(at: directory.path + "/" + name)
            _ = server
        }
        #expect(failure(at: directory.path + "/" + String(repeating: "x", count: room + 1))?.code == .pathTooLong)
        #expect(failure(at: directory.path + "/" + String(repeating: "ü", count: room / 2 + 1))?.code == .pathTooLong)
        #expect(failure(at: String(repeating: "x", count: 1 << 20))?.code == .pathTooLong)
    }

    @Test(arguments: [
        ("", "empty"), ("\0", "abstract"), ("\0abstract", "abstract"), ("a\0b", "a NUL byte"), ("/tmp/", "slash"),
    ])
    func `a path that no socket can have is refused, including abstract names`(path: String, reason: String) {
        let error = #expect(throws: TransportError.self) { try FrameServer(at: path) }
        #expect(error?.code == .invalidPath)
        #expect(error?.message.contains(reason) == true)
    }

    @Test func `a missing directory is named`() {
        #expect(failure(at: directory.path + "/none/rtc_SSFD")?.code == .cannotCreate)
        #expect(directory.names.isEmpty)
    }

    @Test func `a directory that is a file is refused`() throws {
        try Data().write(to: URL(fileURLWithPath: directory.path + "/file"))
        #expect(failure(at: directory.path + "/file/rtc_SSFD")?.code == .cannotCreate)
    }

    enum Obstacle: String, CaseIterable {
        case file, directory, link, danglingLink, linkToSocket, pipe
    }

    @Test(arguments: Obstacle.allCases)
    func `a file that is not a socket is refused and left alone, and no lock stays`(obstacle: Obstacle) throws {
        let path = directory.socket
        let files = FileManager.default
        switch obstacle {
        case .file: try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        case .directory: try files.createDirectory(atPath: path, withIntermediateDirectories: false)
        case .link:
            try Data("mine".utf8).write(to: URL(fileURLWithPath: path + ".target"))
            try files.createSymbolicLink(atPath: path, withDestinationPath: path + ".target")
        case .danglingLink: try files.createSymbolicLink(atPath: path, withDestinationPath: path + ".target")
        case .linkToSocket:
            _ = try PeerSocket.listening(at: path + ".target")
            try files.createSymbolicLink(atPath: path, withDestinationPath: path + ".target")
        case .pipe: #expect(unsafe mkfifo(path, 0o600) == 0)
        }
        let before = (entry(), directory.names)
        #expect(failure(at: path)?.code == .notASocket)
        #expect(entry()?.st_ino == before.0?.st_ino && entry()?.st_mode == before.0?.st_mode)
        #expect(directory.names == before.1)
        if obstacle == .file || obstacle == .link {
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("mine".utf8))
        }
    }

    /// Shows P243.
    @Test(arguments: [false, true])
    func `a dead socket is replaced, and the lock file of a server that died does not hold the path`(hasLock: Bool)
        async throws
    {
        _ = try PeerSocket.listening(at: directory.socket)
        if hasLock { try Data().write(to: URL(fileURLWithPath: directory.socket + ".lock")) }
        let server = try directory.server()
        #expect(entry()?.st_mode == S_IFSOCK | 0o600)
        let client = try PeerSocket.connected(to: directory.socket)
        #expect(try await firstConnection(of: server) != nil)
        server.close()
        try await server.closed()
        #expect(directory.names.isEmpty)
        _ = client
    }

    /// Shows P243.
    @Test func `a live server is refused and undisturbed`() async throws {
        let server = try directory.server()
        let before = entry()
        for _ in 0..<20 { #expect(failure(at: directory.socket)?.code == .addressInUse) }
        #expect(entry()?.st_ino == before?.st_ino)
        #expect(directory.names == ["rtc_SSFD", "rtc_SSFD.lock"])
        // Had one of them so much as connected, this would not be the first.
        let (client, connection) = try await server.connectedPeer()
        #expect(connection.id == 1)
        try await client.write(message(body(1, count: 100)))
        #expect(try await connection.nextBytes() == body(1, count: 100))
    }

    @Test(arguments: [16, 0]) func `another program's live server is refused, whether its backlog is full or not`(
        backlog: Int32
    )
        async throws
    {
        let server = try PeerSocket.listening(at: directory.socket, backlog: backlog)
        let client = try backlog == 0 ? PeerSocket.connected(to: directory.socket) : nil
        let before = entry()
        #expect(failure(at: directory.socket)?.code == .addressInUse)
        #expect(entry()?.st_ino == before?.st_ino)
        #expect(directory.names == ["rtc_SSFD"])
        _ = (server, client)
    }

    @Test(arguments: [0, 0o777, 0o022]) func `the socket has mode 0600 under any umask, which does not change`(
        mask: UInt32
    )
        async
    {
        // The umask belongs to the process, so each has one of its own.
        await #expect(processExitsWith: .success) { [mask] in
            umask(mode_t(mask))
            let directory = "/tmp/fs-\(UUID().uuidString.prefix(8))"
            #expect(unsafe mkdir(directory, 0o700) == 0)
            _ = unsafe chmod(directory, 0o700)
            let server = try FrameServer(at: directory + "/socket")
            var status = stat()
            #expect(unsafe lstat(directory + "/socket", &status) == 0)
            #expect(status.st_mode == S_IFSOCK | 0o600)
            #expect(umask(0) == mode_t(mask))
            server.close()
            try await server.closed()
            #expect(unsafe rmdir(directory) == 0, "files were left behind")
        }
    }

    /// Shows P243.
    @Test(arguments: [false, true]) func `of servers that start simultaneously exactly one wins`(
        isDeadSocketThere: Bool
    )
        async throws
    {
        for round in 0..<100 {
            if isDeadSocketThere { _ = try PeerSocket.listening(at: directory.socket) }
            let path = directory.socket
            let servers = await withTaskGroup(of: FrameServer?.self) { group in
                for _ in 0..<4 { group.addTask { try? FrameServer(at: path) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let winners = servers.compactMap(\.self)
            #expect(winners.count == 1, "round \(round)")
            let client = try PeerSocket.connected(to: path)
            for winner in winners {
                #expect(try await firstConnection(of: winner) != nil)
                winner.close()
            }
            client.close()
            for winner in winners { try await winner.closed() }
            #expect(directory.names.isEmpty)
        }
    }
}
