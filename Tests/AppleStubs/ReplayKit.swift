// What FrameSocketApple uses of ReplayKit; see README.md.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverUseImplicitlyUnwrappedOptionals

@_exported import CoreMedia
@_exported import Foundation
@_exported import UIKit

public let RPRecordingErrorDomain = "com.apple.ReplayKit.RPRecordingErrorDomain"
public let RPVideoSampleOrientationKey = "RPSampleBufferVideoOrientation"

public enum RPSampleBufferType: Int, Sendable {
    case video = 1
    case audioApp, audioMic
}

open class RPBroadcastHandler: NSObject {}

open class RPBroadcastSampleHandler: RPBroadcastHandler {
    open func broadcastStarted(withSetupInfo setupInfo: [String: NSObject]?) {}
    open func broadcastPaused() {}
    open func broadcastResumed() {}
    open func broadcastFinished() {}
    open func processSampleBuffer(_ sampleBuffer: CMSampleBuffer, with sampleBufferType: RPSampleBufferType) {}
    open func finishBroadcastWithError(_ error: any Error) {}
}

@MainActor open class RPSystemBroadcastPickerView: UIView {
    open var preferredExtension: String?
    open var showsMicrophoneButton = true

    /// The original's button is within views of its own.
    public override init(frame: CGRect) {
        super.init(frame: frame)
        let inner = UIView(frame: frame)
        inner.addSubview(UIButton(frame: frame))
        addSubview(inner)
    }
}
