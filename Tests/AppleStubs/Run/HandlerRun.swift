// What the handlers of other kits need: a port and tokens, values of a setup UI extension, a host that is missing, other ends.

import CoreMedia
import Foundation
import FrameSocket
import FrameSocketApple
import ReplayKit
import UserNotifications

enum HandlerRun {
    static func all(in directory: String) async throws {
        FileManager.standInContainers = ["group.a": directory]
        try await port()
        await missingHost()
        try await otherEnds(directory)
        await unusablePath()
        await picker()
    }

    private static func texts(_ handler: Handler) -> [String: String] {
        handler.ends.withLock { ($0.last as? any StandInError)?.userInfo as? [String: String] ?? [:] }
    }

    /// Over a port, in a process without a group; the values of the setup UI extension arrive.
    private static func port() async throws {
        Bundle.standInInfo = [:]
        var configuration = FrameServer.Configuration()
        configuration.tokens = HandshakeTokens(own: Array("app".utf8), expected: Array("extension".utf8))
        let server = try FrameServer(at: .loopback(port: 0), configuration: configuration)
        let handler = Handler()
        handler.change.withLock {
            $0 = {
                $0.endpoint = server.endpoint
                $0.connection.tokens = HandshakeTokens(own: Array("extension".utf8), expected: Array("app".utf8))
            }
        }
        handler.broadcastStarted(withSetupInfo: ["channelName": NSString(string: "room"), "rate": NSNumber(value: 15)])
        await eventually("nobody connected") { handler.session?.uploader.connection.state == .connected }
        let values = handler.session?.values
        expect(values == ["channelName": "room", "rate": "15"], "the values are \(String(describing: values))")
        handler.broadcastFinished()
        Bundle.standInInfo = ["RTCAppGroupIdentifier": "group.a"]
    }

    /// Without an app: a notification first, and the end after the limit, in the language of the extension.
    private static func missingHost() async {
        Bundle.standInStrings = ["FrameSocket.noHost": "Keine App.", "Open it": "Öffnen"]
        let handler = Handler()
        handler.change.withLock {
            $0 = {
                $0.hostTimeout = .milliseconds(200)
                $0.hostNotice = HostNotice(
                    title: "Waiting",
                    text: "Open it",
                    values: ["a": "b"],
                    delay: .milliseconds(50)
                )
            }
        }
        handler.broadcastStarted(withSetupInfo: nil)
        let connection = handler.session?.uploader.connection
        await eventually("the missing app was not noticed") { !handler.codes.isEmpty }
        expect(handler.codes == [10_008], "it ended with \(handler.codes)")
        let text = texts(handler)
        expect(
            text[NSLocalizedDescriptionKey] == "Keine App." && text[NSLocalizedFailureReasonErrorKey] == "Keine App.",
            "\(text)"
        )
        let shown = UNUserNotificationCenter.standInShown.withLock { $0 }
        expect(shown.count == 1 && shown[0].title == "Waiting" && shown[0].body == "Öffnen", "\(shown)")
        expect(shown.first?.values == ["a": "b"], "the notification has other values")
        Bundle.standInStrings = [:]
        // Its last attempt must not reach the next app.
        await eventually("the connection has not ended") { if case .ended = connection?.state { true } else { false } }
    }

    /// An interruption is told apart from a stop, and an orderly end may be quiet.
    private static func otherEnds(_ directory: String) async throws {
        var configuration = FrameServer.Configuration()
        configuration.hello = ControlRequest.Hello()
        let server = try FrameServer(at: directory + "/rtc_SSFD", configuration: configuration)
        let (paused, host) = try await Run.broadcast(to: server)
        paused.broadcastPaused()
        paused.broadcastFinished()
        expect(try await host.closed() == .closedByPeer(.suspended), "an interruption came as another end")

        for (reason, messages, codes) in [
            (ControlRequest.FinishReason.callEnded, ["finishBroadcastWithError:"], []),
            (.versionMismatch, [], [10_004]),
        ] {
            let (handler, host) = try await Run.broadcast(to: server) { $0.endsQuietly = true }
            host.close(reason)
            await eventually("\(reason) was not heard") { !handler.standInMessages.isEmpty || !handler.codes.isEmpty }
            expect(handler.standInMessages == messages && handler.codes == codes, "\(reason): \(handler.codes)")
        }
        withExtendedLifetime(server) {}
    }

    /// What is wrong with the setup is said, in place of a general sentence.
    private static func unusablePath() async {
        let long = Handler()
        FileManager.standInContainers = ["group.a": "/tmp"]
        long.change.withLock { $0 = { $0.endpoint = .path("/tmp/" + String(repeating: "n", count: 200)) } }
        long.broadcastStarted(withSetupInfo: nil)
        await eventually("a path that is too long was not noticed") { !long.codes.isEmpty }
        expect(texts(long)[NSLocalizedDescriptionKey]?.contains("not set up correctly") == true, "\(texts(long))")
    }

    @MainActor private static func picker() {
        let picker = BroadcastPicker(extension: "a.b")
        expect(picker.view.preferredExtension == "a.b" && !picker.view.showsMicrophoneButton, "it offers others")
        expect(picker.start(), "its button was not found")
        let inner = picker.view.subviews.first?.subviews.first as? UIButton
        expect(inner?.standInTaps == 1, "the sheet was shown \(inner?.standInTaps ?? 0) times")
    }
}
