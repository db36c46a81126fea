// Runs FrameSocketApple's sources over the stubs: broadcasts to a server of this package, from their beginning to each end.

import CoreFoundation
import CoreMedia
import CoreVideo
import Foundation
import FrameSocket
import FrameSocketApple
import ReplayKit
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The handler of an extension, whose end is noted in place of being shown.
final class Handler: FrameSocketApple.SampleHandler, @unchecked Sendable {
    let ends = Mutex<[any Error]>([])

    /// What the connection logged.
    let log = Mutex<[String]>([])
    /// What the test changes.
    let change = Mutex<@Sendable (inout BroadcastSession.Configuration) -> Void>({ _ in })

    override var configuration: BroadcastSession.Configuration {
        var configuration = super.configuration
        configuration.connection.log = { [weak self] event in self?.log.withLock { $0.append("\(event)") } }
        configuration.uploader = SampleUploader.Configuration(quality: 95)
        configuration.connection.retryInterval = .milliseconds(1)
        change.withLock { $0 }(&configuration)
        return configuration
    }

    override func finishBroadcastWithError(_ error: any Error) {
        ends.withLock { $0.append(error) }
    }

    /// The codes of the ends so far.
    var codes: [Int] { ends.withLock { $0.map { ($0 as? any StandInError)?.code ?? 0 } } }
}

@main struct Run {
    static let started = Count()
    static let stopped = Count()

    static func main() async throws {
        let directory = CommandLine.arguments[1]
        let observations = [
            BroadcastNotification.started.observe { started.value.add(1, ordering: .relaxed) },
            BroadcastNotification.stopped.observe { stopped.value.add(1, ordering: .relaxed) },
        ]
        withoutGroup()
        setup(directory)
        Bundle.standInInfo = ["RTCAppGroupIdentifier": "group.a", "RTCScreenSharingExtension": "a.b"]
        FileManager.standInContainers = ["group.a": directory]
        expect(AppGroup.extensionIdentifier == "a.b", "the extension is not named")
        expect(AppGroup.main?.socketPath() == directory + "/rtc_SSFD", "the socket is elsewhere")
        expect(AppGroup(identifier: "group.b").socketPath() == nil, "a group of others has a path")

        var configuration = FrameServer.Configuration()
        configuration.hello = ControlRequest.Hello(wants: [.frames, .audio])
        let server = try FrameServer(at: directory + "/rtc_SSFD", configuration: configuration)
        try await samples(server)
        for format in CoreVideoDecoder.Format.allCases { try await received(server, as: format) }
        try await ends(server)
        await observationsEnd()
        withExtendedLifetime((consume server, observations)) {}
        try await FormatsRun.all(in: directory)
        try await HandlerRun.all(in: directory)
        try await JitsiRun.all(in: directory)
        if failures == 0 { print("broadcasts over the stubs go as they should") }
        exit(failures > 0 ? 1 : 0)
    }

    /// A broadcast without an App Group ends at once, and says why.
    static func withoutGroup() {
        let handler = Handler()
        handler.broadcastStarted(withSetupInfo: nil)
        expect(handler.codes == [10_008], "without a group it ended with \(handler.codes)")
        expect(started.now == 1 && stopped.now == 1, "an app was not told")
        let error = handler.ends.withLock { $0.first }
        let texts = (error as? any StandInError)?.userInfo as? [String: String]
        let keys = [NSLocalizedDescriptionKey, NSLocalizedFailureReasonErrorKey]
        expect(keys.allSatisfy { texts?[$0]?.isEmpty == false }, "the person is told nothing")
        handler.broadcastFinished()
        expect(stopped.now == 1, "it ended twice")
    }

    /// The check of the setup finds what the bundles and containers lack.
    static func setup(_ directory: String) {
        expect(codes == ["group.missing", "background.audio", "extension.missing"], "without entries: \(codes)")
        Bundle.standInInfo = [
            "CFBundleIdentifier": "a", "RTCAppGroupIdentifier": "group.a", "RTCScreenSharingExtension": "a.b",
            "UIBackgroundModes": ["audio"],
        ]
        expect(codes == ["group.notEntitled", "extension.notEmbedded"], "without bundle and container: \(codes)")
        FileManager.standInContainers = ["group.a": directory]
        Bundle.standInBundles["/App.app/PlugIns/Share.appex"] = ["CFBundleIdentifier": "a.share"]
        Bundle.standInBundles["/App.app/PlugIns/Screen.appex"] = [
            "CFBundleIdentifier": "a.b", "RTCAppGroupIdentifier": "group.a",
            "NSExtension": [
                "NSExtensionPointIdentifier": "com.apple.broadcast-services-upload",
                "NSExtensionPrincipalClass": "b.SampleHandler",
                "RPBroadcastProcessMode": "RPBroadcastProcessModeSampleBuffer",
            ],
        ]
        expect(codes.isEmpty, "with everything: \(codes)")
        let long = BroadcastSetup.check(socketName: String(repeating: "n", count: 103)).map(\.code)
        expect(long == ["path.tooLong"], "with a long name: \(long)")
    }

    private static var codes: [String] { BroadcastSetup.check().map(\.code) }

    /// A broadcast that has begun, and the app's end of it.
    static func broadcast(
        to server: FrameServer,
        _ change: @escaping @Sendable (inout BroadcastSession.Configuration) -> Void = { _ in }
    ) async throws -> (Handler, FrameConnection) {
        let handler = Handler()
        handler.change.withLock { $0 = change }
        handler.broadcastStarted(withSetupInfo: nil)
        var connections = server.connections.makeAsyncIterator()
        guard let host = try await connections.next() else { throw CancellationError() }
        await eventually("no hello came") { handler.session?.uploader.connection.receiver.hello != nil }
        return (handler, host)
    }

    static func samples(_ server: FrameServer) async throws {
        let (handler, host) = try await broadcast(to: server)
        var frames = host.frames.makeAsyncIterator()
        let decoder = FrameDecoder()
        let full = kCVPixelFormatType_420YpCbCr8BiPlanarFullRange
        let video = kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange
        // Each with the gray that it must come out as.
        let images: [(CVBuffer, UInt8)] = [
            (buffer(kCVPixelFormatType_32BGRA, [[90, 90, 90, 255]]), 90),
            (buffer(full, [[235], [128, 128]]), 235),
            (buffer(video, [[235], [128, 128]]), 255),
            (buffer(video, [[16], [128, 128]]), 0),
        ]
        for (index, (buffer, gray)) in images.enumerated() {
            let attachment: [CFString: CFTypeRef] = [RPVideoSampleOrientationKey: NSNumber(value: 6)]
            let sample = CMSampleBuffer(standIn: buffer, time: time(5), attachments: index == 0 ? attachment : [:])
            handler.processSampleBuffer(sample, with: .video)
            // The callback has returned: the memory is the source's again.
            buffer.redraw()
            guard let frame = try await frames.next() else { return expect(false, "no frame came") }
            expect(frame.orientation == (index == 0 ? .right : .unknown), "it lies \(frame.orientation)")
            expect(frame.timestamp == 5_000_000, "its time is \(frame.timestamp ?? 0)")
            let image = try decoder.decode(frame, as: .rgb).image
            expect(image.width == 64 && image.height == 48, "it has another size")
            let furthest = image.withRow(20) { row in row.indices.map { abs(Int(row[$0]) - Int(gray)) }.max() ?? 255 }
            expect(furthest <= 2, "image \(index) is off by \(furthest)")
            await eventually("image \(index) stays locked") { buffer.locks == 0 }
        }
        let other = buffer(0x7733_3072, [[1]])
        handler.processSampleBuffer(CMSampleBuffer(standIn: other, time: time(6)), with: .video)
        expect(other.locks == 0, "what cannot be read was locked")
        handler.processSampleBuffer(CMSampleBuffer(time: time(6)), with: .video)
        expect(
            handler.session?.unreadableImages == 2,
            "\(handler.session?.unreadableImages ?? 0) images were unreadable"
        )
        let events = handler.log.withLock { $0 }
        expect(events.contains { $0.contains("'w30r'") }, "no log says which format cannot be read: \(events)")

        let format = AudioStreamBasicDescription(
            sampleRate: 44_100,
            formatID: kAudioFormatLinearPCM,
            flags: kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsBigEndian,
            channels: 1,
            bits: 16
        )
        let sound = CMSampleBuffer(sound: ([0x12, 0x34, 0xFF, 0xFE], format), time: time(7, flags: []))
        handler.processSampleBuffer(sound, with: .audioApp)
        handler.processSampleBuffer(sound, with: .audioMic)
        var sounds = host.audio.makeAsyncIterator()
        for kind in [AudioKind.app, .microphone] {
            guard let block = await sounds.next() else { return expect(false, "no sound came") }
            expect(block.kind == kind && block.timestamp == nil, "the sound is another")
            expect(block.samples == [0x1234, -2], "the samples are others")
        }

        handler.broadcastPaused()
        handler.processSampleBuffer(CMSampleBuffer(standIn: images[0].0, time: time(8)), with: .video)
        handler.broadcastResumed()
        handler.processSampleBuffer(CMSampleBuffer(standIn: images[0].0, time: time(9)), with: .video)
        expect(try await frames.next()?.timestamp == 9_000_000, "an image of the pause came")

        handler.broadcastFinished()
        expect(try await host.closed() == .closedByPeer(.stoppedByUser), "the app heard of another end")
        expect(handler.codes.isEmpty && handler.session == nil, "who stopped is shown an error")
    }

    /// What is received comes as a Core Video buffer, whose samples mean what is attached.
    static func received(_ server: FrameServer, as format: CoreVideoDecoder.Format) async throws {
        let (handler, host) = try await broadcast(to: server)
        let decoder = CoreVideoDecoder(format: format)
        let isNV12 = format == .nv12
        let source = isNV12 ? kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange : kCVPixelFormatType_32BGRA
        // Saturated colors, in which a mistaken matrix or range shows.
        let values: [[UInt8]] = format == .nv12 ? [[63], [102, 240]] : [[0, 0, 255, 255]]
        var frames = host.frames.makeAsyncIterator()
        let bufferCount = CVPixelBufferPool.standInCount
        for orientation in [UInt32(6), 1, 8] {
            let original = buffer(source, values)
            if format == .nv12 {
                original.attachments[kCVImageBufferYCbCrMatrixKey] = NSString(
                    string: kCVImageBufferYCbCrMatrix_ITU_R_709_2
                )
            }
            let attachments = [RPVideoSampleOrientationKey: NSNumber(value: orientation)]
            let sample = CMSampleBuffer(standIn: original, time: time(3), attachments: attachments)
            handler.processSampleBuffer(sample, with: .video)
            guard let frame = try await frames.next() else { return expect(false, "no frame came") }
            let image = try decoder.decode(frame)
            expect(image.timestamp == 3_000_000, "its time is \(image.timestamp)")
            expect(UInt32(image.orientation.rawValue) == orientation, "it lies \(image.orientation)")
            let attached = image.buffer.attachments[RPVideoSampleOrientationKey] as? NSNumber
            expect(attached?.uint32Value == (orientation == 1 ? nil : orientation), "another orientation is attached")
            expect(image.buffer.locks == 0, "the buffer stays locked")
            // The pixels as the buffer says, read back as a sender would.
            let lent = try PixelBuffer(image.buffer)
            expect(
                lent.format == (format == .nv12 ? .nv12 : .bgra) && lent.width == 64 && lent.height == 48,
                "it has another shape"
            )
            let expected: [[UInt8]] = format == .nv12 ? [[76], [85, 255]] : [[0, 0, 254, 255]]
            for (plane, samples) in expected.enumerated() {
                lent.withRow(20, ofPlane: plane) { row in
                    let furthest = row.indices.map { abs(Int(row[$0]) - Int(samples[$0 % samples.count])) }.max()
                    expect(furthest ?? 255 <= 2, "plane \(plane) is off by \(furthest ?? 255)")
                }
            }
            let matrix = image.buffer.attachments[kCVImageBufferYCbCrMatrixKey] as? NSString
            let isMatrixRight = matrix?.isEqual(to: kCVImageBufferYCbCrMatrix_ITU_R_601_4)
            expect(isMatrixRight == (format == .nv12 ? true : nil), "another matrix is attached")
        }
        expect(CVPixelBufferPool.standInCount - bufferCount <= 2, "buffers are not used again")
        handler.broadcastFinished()
        expect(try await host.closed() == .closedByPeer(.stoppedByUser), "the app heard of another end")
    }

    static func ends(_ server: FrameServer) async throws {
        let (stops, host) = try await broadcast(to: server)
        BroadcastNotification.requestStop.post()
        expect(try await host.closed() == .closedByPeer(.requestedByHost), "the app heard of another end")
        BroadcastNotification.requestStop.post()
        stops.broadcastFinished()
        expect(stops.codes == [10_002], "asked to stop it ended with \(stops.codes)")

        let (hears, closing) = try await broadcast(to: server)
        closing.close(.callEnded)
        await eventually("the app's end was not heard") { !hears.codes.isEmpty }
        expect(hears.codes == [10_006], "the app's end came as \(hears.codes)")
        expect(hears.session == nil, "a session is left over")
        expect(started.now == 6 && stopped.now == 6, "told \(started.now) times of a start, \(stopped.now) of an end")
    }

    /// Who lets go of an observation is no longer called.
    static func observationsEnd() async {
        let count = Count()
        var observation: BroadcastObservation? = BroadcastNotification.requestStop.observe {
            count.value.add(1, ordering: .relaxed)
        }
        BroadcastNotification.requestStop.post()
        expect(observation != nil && count.now == 1, "a notification was not heard")
        observation = nil
        BroadcastNotification.requestStop.post()
        expect(count.now == 1, "somebody who has gone was called")

        // A handler that alone retains another observation is released with its own.
        var inner: BroadcastObservation? = BroadcastNotification.requestStop.observe {
            count.value.add(1, ordering: .relaxed)
        }
        observation = BroadcastNotification.stopped.observe { [inner] in withExtendedLifetime(inner) {} }
        inner = nil
        observation = nil
        BroadcastNotification.requestStop.post()
        expect(inner == nil && count.now == 1, "an observation outlives the handler that retains it")
    }
}
