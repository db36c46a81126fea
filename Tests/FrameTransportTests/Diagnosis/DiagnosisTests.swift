#if os(Linux)
    import Foundation
    import FrameSocketTesting
    import FrameTransport
    import FrameWire
    import TestDescriptions
    import TestSupport
    import Testing

    /// What a diagnosis says of a path, finding by finding, and that it leaves everything as it was.
    @Suite(.timeLimit(.minutes(5)), .besideBystander) struct DiagnosisTests {
        let directory: TemporaryDirectory

        /// Some user who is neither this one nor root.
        static let stranger: UInt32 = 65_534

        init() throws {
            directory = try TemporaryDirectory()
        }

        /// What may be at a path, and in what state its directory.
        enum Place: CaseIterable {
            case free, missingDirectory, fileAsDirectory, openDirectory, foreignDirectory
            case link, danglingLink, file, folder, pipe
            case deadSocket, foreignSocket, datagrams, server, silence, queue, foreignPeer
            case linkAsLock, longPath, longName, empty, slash, nul

            var expected: (code: PathDiagnosis.Finding.Code, severity: PathDiagnosis.Finding.Severity) {
                switch self {
                case .free: (.freePath, .note)
                case .missingDirectory: (.missingDirectory, .failure)
                case .fileAsDirectory: (.notADirectory, .failure)
                case .openDirectory: (.openDirectory, .failure)
                case .foreignDirectory: (.foreignDirectory, .failure)
                case .link, .danglingLink: (.symbolicLink, .failure)
                case .file, .folder, .pipe: (.notASocket, .failure)
                case .deadSocket: (.deadSocket, .warning)
                case .foreignSocket: (.foreignSocket, .failure)
                case .datagrams: (.wrongType, .failure)
                case .server: (.liveServer, .note)
                case .silence, .queue: (.silentServer, .failure)
                case .foreignPeer: (.refusedPeer, .failure)
                case .linkAsLock: (.unusableLock, .failure)
                case .longPath: (.longPath, .note)
                case .longName: (.pathTooLong, .failure)
                case .empty, .slash, .nul: (.invalidPath, .failure)
                }
            }

            var needsRoot: Bool { self == .foreignDirectory || self == .foreignSocket }
        }

        /// Makes a place; what it returns keeps it so.
        private func make(_ place: Place) throws -> (path: String, holders: [Any]) {
            let socket = directory.socket
            let files = FileManager.default
            switch place {
            case .free, .foreignPeer: break
            case .missingDirectory: return (directory.path + "/it's none/s", [])
            case .fileAsDirectory:
                try Data().write(to: URL(filePath: socket))
                return (socket + "/s", [])
            case .openDirectory: #expect(unsafe chmod(directory.path, 0o777) == 0)
            case .foreignDirectory: #expect(unsafe chown(directory.path, Self.stranger, Self.stranger) == 0)
            case .link:
                let server = try PeerSocket.listening(at: directory.path + "/target")
                try files.createSymbolicLink(atPath: socket, withDestinationPath: directory.path + "/target")
                return (socket, [server])
            case .danglingLink: try files.createSymbolicLink(atPath: socket, withDestinationPath: "nowhere")
            case .file: try Data("mine".utf8).write(to: URL(filePath: socket))
            case .folder: try files.createDirectory(atPath: socket, withIntermediateDirectories: false)
            case .pipe: #expect(unsafe mkfifo(socket, 0o600) == 0)
            case .deadSocket: try PeerSocket.listening(at: socket).close()
            case .foreignSocket:
                try PeerSocket.listening(at: socket).close()
                #expect(unsafe lchown(socket, Self.stranger, Self.stranger) == 0)
            case .datagrams:
                let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
                let holder = PeerSocket(descriptor: descriptor)
                try holder.bind(to: socket)
                return (socket, [holder])
            case .server: return (socket, [try directory.server()])
            case .silence: return (socket, [try PeerSocket.listening(at: socket)])
            case .queue:
                let server = try PeerSocket.listening(at: socket, backlog: 0)
                return (socket, [server, try PeerSocket.connected(to: socket)])
            case .linkAsLock: try files.createSymbolicLink(atPath: socket + ".lock", withDestinationPath: "nowhere")
            case .longPath:
                let deep = directory.path + String(repeating: "/" + String(repeating: "d", count: 60), count: 2)
                try files.createDirectory(
                    atPath: deep,
                    withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700]
                )
                return (deep + "/s", [])
            case .longName: return (directory.path + "/" + String(repeating: "s", count: 120), [])
            case .empty: return ("", [])
            case .slash: return (directory.path + "/", [])
            case .nul: return (directory.path + "/a\0b", [])
            }
            if place == .foreignPeer { return (socket, [try directory.server()]) }
            return (socket, [])
        }

        /// What is in the directory, with everything that writing, making or removing would change.
        ///
        /// Not the times of directories: whether a socket can be created there is tried.
        private var state: [String] {
            get throws {
                let names = try FileManager.default.subpathsOfDirectory(atPath: directory.path).sorted()
                return ([""] + names).map { name in
                    var status = stat()
                    _ = unsafe lstat("\(directory.path)/\(name)", &status)
                    let facts = "\(name) \(status.st_ino) \(status.st_mode) \(status.st_uid)"
                    guard status.st_mode & S_IFMT != S_IFDIR else { return facts }
                    let times = [status.st_mtim, status.st_ctim].map { "\($0.tv_sec).\($0.tv_nsec)" }
                    return "\(facts) \(status.st_size) \(times)"
                }
            }
        }

        private func diagnosis(of path: String, _ place: Place) async -> PathDiagnosis {
            // Only what is expected not to answer may be given up on a busy machine.
            let isSilent = place == .silence || place == .queue
            return await PathDiagnosis(
                of: path,
                peers: place == .foreignPeer ? .users([Self.stranger]) : .sameUserOrRoot,
                within: isSilent ? .milliseconds(100) : .seconds(60)
            )
        }

        /// Shows P200.
        @Test func `an examination of a server that does not answer can be cancelled`() async throws {
            let server = try PeerSocket.listening(at: directory.socket)
            let path = directory.socket
            let examining = Task { await PathDiagnosis(of: path, within: .seconds(600)) }
            examining.cancel()
            let diagnosis = try #require(try await soon { await examining.value })
            #expect(diagnosis.findings.isEmpty)
            server.close()
        }

        @Test(arguments: Place.allCases) func `every problem is found, and every file is left as it is`(place: Place)
            async throws
        {
            if place.needsRoot, geteuid() != 0 { try Test.cancel("only root may give files away") }
            let (path, holders) = try make(place)
            let before = try state
            let diagnosis = await diagnosis(of: path, place)
            #expect(try state == before)
            #expect(diagnosis.path == path)
            let codes = diagnosis.findings.map(\.code)
            let finding = try #require(
                diagnosis.findings.first { $0.code == place.expected.code },
                "\(place): \(diagnosis.findings)"
            )
            #expect(finding.severity == place.expected.severity)
            #expect(diagnosis.severity == place.expected.severity)
            if finding.severity > .note {
                #expect(diagnosis.worst == finding)
                let remedy = try #require(finding.remedy)
                #expect(!remedy.isEmpty && !remedy.contains("\n") && finding.description.contains(remedy))
            }
            // What is said once is not said again in other words.
            #expect(diagnosis.findings.filter { $0.severity > .note }.count == (finding.severity > .note ? 1 : 0))
            #expect(Set(codes).count == codes.count || codes.filter { $0 == .descriptors }.count == 2)
            withExtendedLifetime(holders) {}
        }

        @Test(arguments: [
            (Place.longName, ["bytes", "limit", "nameBytes", "nameLimit"]), (.longPath, ["bytes", "limit"]),
            (.openDirectory, ["mode", "uid"]), (.server, ["pid", "uid"]), (.silence, ["pid", "uid"]), (.queue, []),
            (.foreignPeer, ["pid", "uid"]),
        ])
        func `the values are available to programs`(place: Place, names: [String]) async throws {
            let (path, holders) = try make(place)
            let finding = try #require(
                await diagnosis(of: path, place).findings.first { $0.code == place.expected.code }
            )
            #expect(finding.values.keys.sorted() == names)
            let known = [
                "bytes": path.utf8.count, "limit": 107, "nameBytes": 120, "nameLimit": 82, "mode": 0o777,
                "uid": Int(geteuid()), "pid": Int(getpid()),
            ]
            for (name, value) in finding.values { #expect(value == known[name], "\(name)") }
            withExtendedLifetime(holders) {}
        }

        /// The remedies that are commands, tried on what they are for.
        @Test(
            .leftOut(of: .memcheck, because: "Foundation cannot start programs under valgrind"),
            arguments: [
                Place.missingDirectory, .openDirectory, .link, .file, .folder, .pipe, .linkAsLock, .deadSocket,
            ]
        )
        func `a remedy fixes the problem`(place: Place) async throws {
            let (path, holders) = try make(place)
            let remedy = try #require(await diagnosis(of: path, place).worst?.remedy)
            let command = try #require(remedy.split(separator: ": ").last)
            #expect(try ChildProcess("sh", ["-c", String(command)]).status == 0, "\(command)")
            let after = await diagnosis(of: path, place)
            #expect(after.severity == .note, "\(after.findings)")
            withExtendedLifetime(holders) {}
        }

        @Test(arguments: ["a", "a b", "it's", "new\nline", "\u{1B}[1m", "a\tb\\'c%s\u{7F}8", "$HOME", "\u{1}1ü\n"])
        func `a word of a command is the text`(text: String) throws {
            let child = try ChildProcess("bash", ["-c", "printf %s \(text.shellWord)"])
            #expect(child.output == Array(text.utf8), "\(text.shellWord)")
        }

        @Test(arguments: ["", "/", "/.", "/./", "/.."])
        func `the remedy for a directory that cannot be moved is a path in it`(ending: String) async throws {
            let path = ending == "/" ? "/" : directory.path + ending
            let remedy = try #require(await PathDiagnosis(of: path, within: .seconds(60)).worst?.remedy)
            let isMovable = ending.isEmpty
            #expect(remedy.contains("mv -- ") == isMovable && remedy.contains("rtc_SSFD") == !isMovable, "\(remedy)")
            #expect(!remedy.contains("/.old"), "\(remedy)")
        }

        @Test(
            .leftOut(of: .faults, because: "after a failure to accept, a server pauses for longer than that"),
            arguments: [60, 1, 0.3, 0.25]
        )
        func `a server that answers is well, however little time it has`(seconds: Double) async throws {
            let server = try directory.server()
            let diagnosis = await PathDiagnosis(of: directory.socket, within: .seconds(seconds))
            #expect(diagnosis.severity == .note, "\(diagnosis)")
            withExtendedLifetime(server) {}
        }

        @Test func `a server sees a sender that connects and leaves, and nothing of it stays`() async throws {
            let server = try directory.server()
            let diagnosis = await PathDiagnosis(of: directory.socket, within: .seconds(60))
            #expect(diagnosis.severity == .note)
            let connection = try #require(try await firstConnection(of: server))
            var frames = connection.frames.makeAsyncIterator()
            #expect(try await frames.next() == nil)
            #expect(try await connection.closed().error == nil)
        }

        @Test func `a server that expects tokens is examined like any other`() async throws {
            let server = try directory.server { $0.tokens = HandshakeTokens(own: [1], expected: [2]) }
            let diagnosis = await PathDiagnosis(of: directory.socket, within: .seconds(60))
            #expect(diagnosis.findings.contains { $0.code == .liveServer })
            withExtendedLifetime(server) {}
        }

        @Test func `a server that has something to say is read to its end`() async throws {
            let server = try directory.server { $0.hello = ControlRequest.Hello() }
            let diagnosis = await PathDiagnosis(of: directory.socket, within: .seconds(60))
            #expect(diagnosis.findings.contains { $0.code == .liveServer })
            withExtendedLifetime(server) {}
        }

        @Test func `running out of descriptors is reported before it happens`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                for limit in [1024, 60] as [UInt] {
                    var both = rlimit(rlim_cur: limit, rlim_max: 1024)
                    #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &both) == 0)
                    let diagnosis = await PathDiagnosis(of: directory.socket)
                    let finding = try #require(
                        diagnosis.findings.first { $0.code == (limit == 60 ? .fewDescriptors : .descriptors) }
                    )
                    #expect(finding.values["limit"] == Int(limit))
                    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
                    // The process has other threads, which open and close some meanwhile.
                    #expect(abs((finding.values["open"] ?? 0) - open) <= 6)
                    #expect(diagnosis.severity == (limit == 60 ? .warning : .note))
                }
            }
        }

        @Test func `what this user may not do is reported with the system's error message`() async {
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
                let closed = await PathDiagnosis(of: inner + "/s")
                #expect(closed.worst?.code == .inaccessibleSocket)
                #expect(unsafe chmod(inner, 0o500) == 0)
                let readOnly = await PathDiagnosis(of: inner + "/other")
                #expect(readOnly.worst?.code == .readOnlyDirectory)
                #expect(readOnly.worst?.values == ["mode": 0o500, "uid": Int(geteuid())])
                #expect(unsafe chmod(directory.path, 0) == 0)
                let unseen = await PathDiagnosis(of: inner + "/s")
                #expect(unseen.worst?.code == .inaccessibleDirectory)
                #expect(unseen.worst?.values == ["errno": Int(EACCES)])
                #expect(unsafe chmod(directory.path, 0o700) == 0)
                #expect(unsafe chmod(inner, 0o700) == 0)
                _ = seteuid(getuid())
                withExtendedLifetime(server) {}
            }
        }

        @Test func `a directory that only the service manager may write to is not a problem`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let server = try directory.server()
                #expect(unsafe chmod(directory.path, 0o555) == 0)
                if geteuid() == 0 {
                    #expect(unsafe chmod(directory.socket, 0o666) == 0)
                    #expect(seteuid(65_534) == 0)
                }
                let diagnosis = await PathDiagnosis(
                    of: directory.socket,
                    peers: .users([getuid()]),
                    within: .seconds(60)
                )
                _ = seteuid(getuid())
                #expect(unsafe chmod(directory.path, 0o700) == 0)
                #expect(diagnosis.findings.first { $0.code == .readOnlyDirectory }?.severity == .note)
                withExtendedLifetime(server) {}
            }
        }
    }
#endif
