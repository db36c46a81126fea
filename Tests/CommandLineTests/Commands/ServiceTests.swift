#if os(Linux)
    import Foundation
    import FrameSocketTesting
    import Glibc
    import TestSupport
    import Testing

    /// `framesocket receive` under a service manager: systemd's own program passes the sockets, and a stand-in is told.
    @Suite(.serialized) struct ServiceTests {
        private let place = Workplace.new
        private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

        /// What tells a program of the manager's socket.
        private var notified: String { "NOTIFY_SOCKET=\(place.path("n"))" }

        /// Starts the receiver as a socket unit would: when the first sender comes.
        private func activated(_ settings: [String] = [], _ options: [String] = []) async throws -> Program {
            // The receiver gets nothing of this process's environment but what is named.
            let environment = ["-E", "ASAN_OPTIONS", "-E", "LSAN_OPTIONS"]
            let command = ["-l", place.socket, Places.framesocket, "receive", "--systemd", "--json"]
            let program = try place.start(
                Places.tool("systemd-socket-activate"),
                environment + settings + command + options
            )
            try await program.told("Listening on")
            return program
        }

        /// A service manager's socket, and what it is told: each message as a line of Python.
        private func manager(_ name: String, _ options: String...) async throws -> Program {
            let program = try place.start(Places.python, ["-B", Places.peer("service_manager"), name] + options)
            try await program.lines(1)
            return program
        }

        // MARK: Sockets from systemd

        @Test(.needs("systemd-socket-activate"))
        func `a passed socket is used, and stays for the next server`() async throws {
            let first = try await activated()
            try await place.send(jpeg, "--loop", "3").checked(0)
            try await first.lines(6)
            // Another one is told that the path is taken: it has asked, as there is no lock to say so.
            await (try place.framesocket(["receive", place.socket])).ended(69)
            try await first.lines(8)
            let ending = await first.ended(by: .terminate, 0)
            let names = ["listening", "connected", "frame", "frame", "frame", "closed", "connected", "closed"]
            #expect(try ending.events.map(\.name) == names)
            #expect(try ending.events.first?.text("path") == place.socket)
            #expect(try place.names() == ["s"])
        }

        @Test(.needs("systemd-socket-activate"))
        func `the socket with the requested name is used`() async throws {
            let control = place.path("c")
            let options = ["-l", control, "--fdname=control:frames"]
            let receiver = try await activated(options, ["--socket-name", "frames", "--count", "1"])
            try await place.send(jpeg).checked(0)
            let ending = await receiver.ended(0)
            #expect(try ending.events.first?.text("path") == place.socket)
            #expect(try place.names() == ["c", "s"])
        }

        @Test(
            .needs("systemd-socket-activate"),
            arguments: [
                ([], "2 sockets passed (control, frames); name one with --socket-name"),
                (["--socket-name", "none"], "--socket-name none: no socket passed with this name (control, frames)"),
            ]
        )
        func `an ambiguous choice of socket is an error`(options: [String], complaint: String) async throws {
            let receiver = try await activated(["-l", place.path("c"), "--fdname=control:frames"], options)
            let sender = try place.framesocket(["send", place.socket, jpeg])
            let ending = await receiver.ended(66, complaint)
            #expect(try ending.events.map(\.name) == ["error", "failed"])
            #expect(try ending.events[0].text("code") == "socket.missing")
            #expect(try place.names() == ["c", "s"])
            sender.kill()
        }

        @Test(.needs("systemd-socket-activate"))
        func `a connection instead of a socket is refused with a remedy`() async throws {
            let receiver = try await activated(["--accept"])
            let sender = try place.framesocket(["send", place.socket, jpeg, "--wait", "1"])
            try await receiver.told("Accept=yes")
            _ = await (receiver.ended(by: .terminate), sender.ended())
        }

        // MARK: Readiness

        @Test(arguments: [true, false])
        func `the manager is notified of readiness and of stopping`(isAbstract: Bool) async throws {
            let name = isAbstract ? "@\(place.directory)/n" : place.path("n")
            let manager = try await manager(name)
            let receiver = try place.framesocket(["receive", place.socket, "--json"], with: "NOTIFY_SOCKET=\(name)")
            let ready = try await manager.lines(2)
            #expect(ready[1] == #"b'READY=1\nSTATUS=listening at \#(place.socket)'"#)
            // It is true: a sender need not wait.
            try await place.send(jpeg, "--wait", "0").checked(0)
            try await receiver.lines(4)
            receiver.send(.terminate)
            #expect(try await manager.lines(3).last == "b'STOPPING=1'")
            await receiver.ended(0)
        }

        @Test func `no readiness is announced if the server cannot listen`() async throws {
            let manager = try await manager(place.path("n"))
            try await place.framesocket(["receive", place.path("none/s")], with: notified).ended(73)
            // What is told now is the first thing that is.
            let receiver = try place.framesocket(["receive", place.socket], with: notified)
            #expect(try await manager.lines(2)[1].contains("listening at \(place.socket)'"))
            await receiver.ended(by: .interrupt)
        }

        @Test(arguments: ["/none", "relative", "vsock:2:1234", "@", "", "/" + String(repeating: "0", count: 200)])
        func `a manager that cannot be notified does not prevent reception`(name: String) async throws {
            let receiver = try place.framesocket(
                ["receive", place.socket, "--count", "1", "--json"],
                with: "NOTIFY_SOCKET=\(name)"
            )
            try await receiver.lines(1)
            try await place.send(jpeg).checked(0)
            let ending = await receiver.ended(0)
            #expect(ending.errors.contains("cannot notify") == (name == "/none"), "\(ending)")
        }

        @Test func `the watchdog is notified, unless it is for another process`() async throws {
            let manager = try await manager(place.path("n"))
            let settings = "export NOTIFY_SOCKET=$D/n WATCHDOG_USEC=20000"
            let other = try place.shell("\(settings) WATCHDOG_PID=1; exec $F receive $D/o --json")
            try await other.lines(1)
            let receiver = try place.shell("\(settings); export WATCHDOG_PID=$$; exec $F receive $S --json")
            let told = try await manager.lines(8)
            #expect(told.count { $0.contains("READY=1") } == 2)
            #expect(told.count { $0 == "b'WATCHDOG=1'" } >= 5)
            await receiver.ended(by: .terminate, 0)
            await other.ended(by: .terminate, 0)
            try #require(await becomesTrue { manager.hasPrinted("STOPPING=1") })
        }

        @Test func `a manager that does not read keeps nobody waiting`() async throws {
            let manager = try await manager(place.path("n"), "--full")
            let receiver = try place.framesocket(
                ["receive", place.socket, "--count", "1", "--json"],
                with: notified,
                "WATCHDOG_USEC=20000"
            )
            try await receiver.lines(1)
            try await place.send(jpeg, "--wait", "60").checked(0)
            let ending = await receiver.ended(0)
            // READY=1 and STOPPING=1; the watchdog's messages, of which there were many, are not worth a word.
            let complaint = "cannot notify the service manager: it does not read its notifications"
            #expect(ending.errors.components(separatedBy: complaint).count == 3, "\(ending)")
            withExtendedLifetime(manager) {}
        }

        // MARK: Signals

        @Test func `a hang-up has no effect`() async throws {
            let manager = try await manager(place.path("n"))
            let receiver = try place.framesocket(["receive", place.socket, "--count", "2", "--json"], with: notified)
            try await manager.lines(2)
            for _ in 0..<2 {
                _ = try await place.run("kill", "-HUP", "\(receiver.id)")
                try await place.send(jpeg).checked(0)
            }
            let ending = await receiver.ended(0)
            #expect(try ending.events("frame").count == 2)
        }

        /// Everything has arrived when the signal comes, as the receiver stood still while it was written: on a connection
        /// that it had accepted, or on one that waited.
        @Test(arguments: [false, true])
        func `what has arrived is delivered after a request to stop`(isConnected: Bool) async throws {
            let body = try Data.bytes(at: jpeg)
            let receiver = try await place.receiver("--json", "--output", place.path("out"))
            let stopping = { _ = try await place.run("kill", "-STOP", "\(receiver.id)") }
            if !isConnected { try await stopping() }
            let sender = try PeerSocket.connected(to: place.socket)
            // Room for all of it, although nobody reads.
            var room = Int32(1 << 20)
            let size = socklen_t(MemoryLayout.size(ofValue: room))
            try #require(unsafe setsockopt(sender.descriptor, SOL_SOCKET, SO_SNDBUF, &room, size) == 0)
            try await sender.write(message(body))
            if isConnected {
                try await receiver.lines(3)
                try await stopping()
            }
            let rest = Array(repeating: message(body), count: 3).flatMap(\.self) + message(body).prefix(1000)
            try await sender.write(rest)
            receiver.send(.terminate)
            _ = try await place.run("kill", "-CONT", "\(receiver.id)")
            let ending = await receiver.ended(130)
            #expect(try ending.events("frame").count == 4)
            #expect(try ending.events("error") == [])
            #expect(try ending.events("closed").first?.text("reason") == "closedLocally")
            #expect(try place.contents(of: "out") == Array(repeating: body, count: 4))
            // The sender sees an end, and no failure.
            #expect(try await sender.readSome(upTo: 1) == [])
        }
    }
#endif
