// A handler as Jitsi's handbook describes it, written for this test: it knows ReplayKit and FrameSocketJitsi alone, so that
// it shows which names an app finds.

import FrameSocketJitsi
import ReplayKit

/// Retries from a timer, sends every third image, and ends the broadcast when the app closes.
class JitsiHandler: RPBroadcastSampleHandler {
    private var link: SocketConnection?
    private var sender: SampleUploader?
    private var videoSamples = 0

    /// Called with each end, which the system would show.
    var onFinish: ((Error) -> Void)?

    init(group: String) {
        super.init()
        let container = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)
        guard let link = SocketConnection(filePath: container?.appendingPathComponent("rtc_SSFD").path ?? "") else {
            return
        }
        self.link = link
        sender = SampleUploader(connection: link)
        link.didClose = { [weak self] error in
            let text = [NSLocalizedDescriptionKey: "Screen sharing stopped"]
            self?.finishBroadcastWithError(
                error ?? NSError(domain: RPRecordingErrorDomain, code: 10_001, userInfo: text)
            )
        }
    }

    override func broadcastStarted(withSetupInfo setupInfo: [String: NSObject]?) {
        videoSamples = 0
        DarwinNotificationCenter.shared.postNotification(.broadcastStarted)
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "test.connect"))
        timer.schedule(deadline: .now(), repeating: .milliseconds(100), leeway: .milliseconds(500))
        timer.setEventHandler { [weak self] in
            // A handler that has gone needs no connection any more.
            guard let link = self?.link else { return timer.cancel() }
            if link.open() { timer.cancel() }
        }
        timer.resume()
    }

    override func broadcastFinished() {
        DarwinNotificationCenter.shared.postNotification(.broadcastStopped)
        link?.close()
    }

    override func processSampleBuffer(_ sampleBuffer: CMSampleBuffer, with sampleBufferType: RPSampleBufferType) {
        guard case .video = sampleBufferType else { return }
        videoSamples += 1
        if videoSamples % 3 == 0 { sender?.send(sample: sampleBuffer) }
    }

    override func finishBroadcastWithError(_ error: Error) {
        onFinish?(error)
    }
}
