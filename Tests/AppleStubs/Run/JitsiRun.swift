// Broadcasts with the names of Jitsi's files: from a handler that knows no others, to a server of this package.

import CoreMedia
import CoreVideo
import Foundation
import FrameSocket
import FrameSocketApple
import ReplayKit
import Synchronization

enum JitsiRun {
    /// The ends that a handler's system was told.
    final class Ends: Sendable {
        private let errors = Mutex<[any Error]>([])
        func add(_ error: any Error) { errors.withLock { $0.append(error) } }
        var codes: [Int] { errors.withLock { $0.map { ($0 as? any StandInError)?.code ?? 0 } } }
        var sentences: [String] {
            errors.withLock {
                $0.map { ($0 as? any StandInError)?.userInfo[NSLocalizedDescriptionKey] as? String ?? "" }
            }
        }
    }

    static func all(in directory: String) async throws {
        FileManager.standInContainers = ["group.a": directory]
        try await serverComesLater(directory)
        try await hostCloses(directory)
        await withoutGroup()
    }

    private static func handler(group: String = "group.a") -> (JitsiHandler, Ends) {
        let (handler, ends) = (JitsiHandler(group: group), Ends())
        handler.onFinish = { ends.add($0) }
        return (handler, ends)
    }

    /// The handler of a broadcast that has begun, and the app's end of it.
    private static func broadcast(to server: FrameServer) async throws -> (JitsiHandler, Ends, FrameConnection) {
        let (handler, ends) = handler()
        handler.broadcastStarted(withSetupInfo: nil)
        var connections = server.connections.makeAsyncIterator()
        guard let host = try await connections.next() else { throw CancellationError() }
        return (handler, ends, host)
    }

    private static func send(_ handler: JitsiHandler, times: ClosedRange<Int64>) {
        for milliseconds in times {
            let image = buffer(kCVPixelFormatType_32BGRA, [[90, 90, 90, 255]])
            handler.processSampleBuffer(CMSampleBuffer(standIn: image, time: time(milliseconds)), with: .video)
            image.redraw()
        }
    }

    /// Sends on until it is cancelled: the app may have accepted a connection before its handler knows.
    private static func keepSending(_ handler: JitsiHandler, after first: Int64) -> Task<Void, any Error> {
        Task { @MainActor in
            var sent = first
            while !Task.isCancelled {
                send(handler, times: sent + 1...sent + 3)
                sent += 3
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// The retry timer connects once a server appears; what comes before is not sent, and the person's stop reaches the app.
    private static func serverComesLater(_ directory: String) async throws {
        let (started, stopped) = (Count(), Count())
        let observations = [
            BroadcastNotification.started.observe { started.value.add(1, ordering: .relaxed) },
            BroadcastNotification.stopped.observe { stopped.value.add(1, ordering: .relaxed) },
        ]
        let (handler, ends) = handler()
        handler.broadcastStarted(withSetupInfo: nil)
        expect(started.now == 1, "an app was not told of the start")
        send(handler, times: 1...3)
        let server = try FrameServer(at: directory + "/rtc_SSFD")
        var connections = server.connections.makeAsyncIterator()
        guard let host = try await connections.next() else { return expect(false, "the timer did not connect") }
        var frames = host.frames.makeAsyncIterator()
        let decoder = FrameDecoder()
        // The first image that finds the connection open arrives: three samples for each.
        let sending = keepSending(handler, after: 3)
        guard let frame = try await frames.next() else { return expect(false, "no frame came") }
        sending.cancel()
        expect((frame.timestamp ?? 0) % 3_000_000 == 0, "another than every third image came: \(frame.timestamp ?? 0)")
        let image = try decoder.decode(frame, as: .rgb).image
        expect(image.width == 32 && image.height == 24, "it has another size")
        expect(image.withRow(3) { abs(Int($0[30]) - 90) <= 2 }, "its pixels are others")
        handler.broadcastFinished()
        expect(try await host.closed() == .closedByPeer(.stoppedByUser), "the app heard of another end")
        expect(stopped.now == 1 && ends.codes.isEmpty, "the stop was told \(stopped.now) times")
        withExtendedLifetime((server, observations)) {}
    }

    /// The app's close ends the broadcast, as its handler says.
    private static func hostCloses(_ directory: String) async throws {
        let server = try FrameServer(at: directory + "/rtc_SSFD")
        let (stopped, plain, first) = try await broadcast(to: server)
        first.close()
        await eventually("the app's close was not heard") { plain.codes == [10_001] }
        expect(plain.sentences == ["Screen sharing stopped"], "the handler's sentence is another")
        withExtendedLifetime((server, stopped)) {}
    }

    /// A handler without access to its group is told once, although its timer goes on.
    private static func withoutGroup() async {
        let (handler, ends) = handler(group: "group.missing")
        handler.broadcastStarted(withSetupInfo: nil)
        await eventually("nobody was told that the group is missing") { !ends.codes.isEmpty }
        expect(ends.codes.count == 1 && ends.sentences[0].contains("not set up correctly"), "\(ends.sentences)")
        handler.broadcastFinished()
    }
}
