#if os(Linux)
    import Foundation
    import FrameSocket
    import TestDescriptions
    import TestSupport
    import Testing

    /// Either side is killed at random points (SIGKILL); the other goes on, gets no torn frame, and keeps nothing.
    ///
    /// A few times here; `make faults KILLS=500` does it as often as it is told.
    @Suite(.serialized, .leftOut(of: .address, .thread, because: "the sanitizer uses memory of its own"))
    struct KillTests {
        @Test func `a server continues to serve when one of its senders is killed`() async {
            await #expect(processExitsWith: .success) { try await killSenders() }
        }

        @Test func `a sender reaches the next server whenever one is killed`() async {
            await #expect(processExitsWith: .success) { try await killReceivers() }
        }
    }

    private func killSenders() async throws {
        let site = try KillSite()
        var configuration = FrameServer.Configuration()
        configuration.pool = site.pool
        let server = try FrameServer(at: site.place.socket, configuration: configuration)
        // One that nothing happens to, and that must notice nothing.
        let steady = try site.sender("--fps", "50")
        let undisturbed = try #require(try await firstConnection(of: server))
        let steadily = Task { try await site.receive(from: undisturbed) }

        try await site.killRepeatedly { moment in
            let sender = try site.sender()
            let connection = try #require(try await firstConnection(of: server))
            let killing = Task {
                try await Task.sleep(for: .microseconds(moment.delay))
                sender.kill()
            }
            do {
                try await site.receive(from: connection)
            } catch let error as TransportError {
                #expect([.malformedMessage, .connectionLost].contains(error.code), "\(site): \(error)")
            }
            try await killing.value
            #expect(await sender.ended().status == -SIGKILL)
        }
        #expect(undisturbed.closeReason == nil, "\(site)")
        steady.send(.interrupt)
        #expect(try await undisturbed.closed() == .closedByPeer(.stoppedByUser), "\(site)")
        #expect(try await steadily.value > 0)
        server.close()
        try await server.closed()
    }

    private func killReceivers() async throws {
        let site = try KillSite()
        var configuration = SocketConnection.Configuration()
        configuration.retryInterval = .milliseconds(1)
        let connection = SocketConnection(path: site.place.socket, configuration: configuration)
        let sending = Task {
            var index = 0
            while connection.closeReason == nil {
                do {
                    try await connection.open(within: nil)
                    try await connection.send(site.message(index))
                } catch let error as TransportError {
                    #expect([.connectionLost, .closed].contains(error.code), "\(site): \(error)")
                }
                index += 1
            }
        }
        try await site.killRepeatedly { moment in
            let receiver = try site.receiver()
            // Listening and connected, and then as many frames as it takes.
            try await receiver.lines(2 + moment.frames)
            try await Task.sleep(for: .microseconds(moment.delay))
            receiver.kill()
            let ending = await receiver.ended()
            #expect(ending.status == -SIGKILL)
            try site.checkOutput(of: ending)
        }
        connection.close()
        _ = try await connection.closed()
        try await sending.value
    }
#endif
