import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// The sender decides whether it offers audio, whatever the receiver asks for.
@Suite struct AudioSwitchTests {
    private let directory: TemporaryDirectory
    private let wants = ControlRequest.Hello(wants: [.frames, .audio])

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func sound(_ number: UInt64, count: Int = 2048) -> AudioBlock {
        AudioBlock(
            kind: .app,
            sampleRate: 44_100,
            channels: 1,
            sequence: number,
            samples: FrameBytes([UInt8](repeating: 1, count: count))
        )
    }

    private func connection(offersAudio: Bool) -> SocketConnection {
        var configuration = SocketConnection.Configuration()
        configuration.offersAudio = offersAudio
        return SocketConnection(path: directory.socket, configuration: configuration)
    }

    /// What is said first holds from the first message on, and again after a reconnect.
    ///
    /// Shows P339.
    @Test(arguments: [false, true]) func `audio is sent while it is offered, over all connections`(
        offersAudio: Bool
    ) async throws {
        let sender = connection(offersAudio: offersAudio)
        #expect(sender.offersAudio == offersAudio)
        for round in 0..<2 {
            let server = try directory.server { $0.hello = wants }
            sender.open()
            let receiver = try #require(try await firstConnection(of: server))
            #expect(await becomesTrue { sender.receiver.wants.contains(.audio) })
            let dropped = sender.receiver.droppedAudio
            var audio = receiver.audio.makeAsyncIterator()
            // Each has arrived before the next change, which would drop it if it still waited.
            for number in 1...3 as ClosedRange<UInt64> {
                let isOffered = (number == 2) != offersAudio
                sender.offersAudio = isOffered
                #expect(try sender.send(sound(number)) == isOffered, "round \(round)")
                if isOffered { #expect(await audio.next()?.sequence == number, "round \(round)") }
            }
            #expect(sender.receiver.droppedAudio == dropped + (offersAudio ? 1 : 2))
            // The receiver wants it all the time.
            #expect(sender.receiver.wants == [.frames, .audio])
            server.close()
            #expect(await becomesTrue { !sender.isOpen })
        }
        sender.close()
    }
}
