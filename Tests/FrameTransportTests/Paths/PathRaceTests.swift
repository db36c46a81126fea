#if os(Linux)
    import Foundation
    import FrameSocketTesting
    import FrameTransport
    import TestSupport
    import Testing

    /// What others do to a server's path between two of its calls.
    @Suite(.timeLimit(.minutes(5))) struct PathRaceTests {
        enum Replacement: String, CaseIterable, Codable {
            case link, danglingLink, file, directory, nothing
        }

        @Test(arguments: Replacement.allCases, [0, 0o777])
        func `whatever replaces the socket during its creation is neither followed nor removed`(
            replacement: Replacement,
            mask: UInt32
        ) async {
            await #expect(processExitsWith: .success) { [replacement, mask] in
                let bystander = try await Bystander()
                let directory = try TemporaryDirectory()
                let path = directory.socket
                let target = directory.path + "/target"
                try Data("mine".utf8).write(to: URL(filePath: target))
                #expect(unsafe chmod(target, 0o644) == 0)
                // Under the second mask the mode has to be set again, and that is the moment.
                umask(mode_t(mask))
                SyscallHooks.once(mask == 0 ? .afterBind : .beforeChangeOfMode) {
                    unsafe unlink(path)
                    switch replacement {
                    case .link: unsafe symlink(target, path)
                    case .danglingLink: unsafe symlink(target + ".none", path)
                    case .file: unsafe link(target, path)
                    case .directory: unsafe mkdir(path, 0o755)
                    case .nothing: break
                    }
                }
                let error = #expect(throws: TransportError.self) { try directory.server() }
                umask(0o022)
                #expect(error?.code == .unsafePath && error?.path == path)
                #expect(directory.names == (replacement == .nothing ? ["target"] : ["rtc_SSFD", "target"]))
                #expect(try Data(contentsOf: URL(filePath: target)) == Data("mine".utf8))
                var status = stat()
                #expect(unsafe stat(target, &status) == 0)
                // A file of this user's own may have been made private, which the mode's change cannot help.
                #expect(status.st_mode & 0o777 == (mask != 0 && replacement == .file ? 0o600 : 0o644))
                try await bystander.exchange(0)
            }
        }

        @Test func `a socket that replaces a dead one is left alone`() async {
            await #expect(processExitsWith: .success) {
                let bystander = try await Bystander()
                let directory = try TemporaryDirectory()
                let path = directory.socket
                _ = try PeerSocket.listening(at: path)
                let other = Box<PeerSocket>()
                // The server has found the old one dead.
                SyscallHooks.once(.afterConnect) {
                    unsafe unlink(path)
                    other.value = try? PeerSocket.listening(at: path)
                }
                let error = #expect(throws: TransportError.self) { try directory.server() }
                #expect(error?.code == .addressInUse)
                #expect(directory.names == ["rtc_SSFD"])
                let client = try PeerSocket.connected(to: path)
                _ = try await #require(other.value).accepted()
                _ = client
                try await bystander.exchange(0)
            }
        }

        @Test func `a dead socket that disappears is not an error`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let path = directory.socket
                _ = try PeerSocket.listening(at: path)
                SyscallHooks.once(.afterConnect) { unsafe unlink(path) }
                let server = try directory.server()
                let client = try PeerSocket.connected(to: path)
                #expect(try await firstConnection(of: server) != nil)
                _ = client
            }
        }

        @Test func `another directory in place of the checked one is noticed`() async {
            await #expect(processExitsWith: .success) {
                let bystander = try await Bystander()
                let directory = try TemporaryDirectory()
                let (inner, moved) = (directory.path + "/inner", directory.path + "/moved")
                #expect(unsafe mkdir(inner, 0o700) == 0)
                SyscallHooks.once(.beforeBind) {
                    unsafe rename(inner, moved)
                    unsafe mkdir(inner, 0o777)
                }
                let error = #expect(throws: TransportError.self) { try FrameServer(at: inner + "/socket") }
                #expect(error?.code == .unsafePath)
                #expect(try FileManager.default.contentsOfDirectory(atPath: moved).isEmpty)
                try await bystander.exchange(0)
            }
        }

        @Test(arguments: [false, true])
        func `what was created is removed where it was created, wherever that is by then`(isRelative: Bool) async {
            await #expect(processExitsWith: .success) { [isRelative] in
                let bystander = try await Bystander()
                let directory = try TemporaryDirectory()
                let (inner, moved) = (directory.path + "/inner", directory.path + "/moved")
                #expect(unsafe mkdir(inner, 0o700) == 0)
                #expect(unsafe chdir(inner) == 0)
                let server = try FrameServer(at: isRelative ? "socket" : inner + "/socket")
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: inner).sorted() == ["socket", "socket.lock"]
                )
                if isRelative {
                    #expect(unsafe chdir("/") == 0)
                } else {
                    #expect(unsafe rename(inner, moved) == 0)
                    #expect(unsafe mkdir(inner, 0o700) == 0)
                    try Data().write(to: URL(filePath: inner + "/socket"))
                }
                server.close()
                try await server.closed()
                let names = { try FileManager.default.contentsOfDirectory(atPath: $0) }
                #expect(try names(isRelative ? inner : moved).isEmpty)
                if !isRelative { #expect(try names(inner) == ["socket"]) }
                try await bystander.exchange(0)
            }
        }
    }

    /// What a hook leaves behind for its test, which looks only when the hook has run.
    private final class Box<Value>: @unchecked Sendable {
        var value: Value?
    }
#endif
