// What FrameSocketApple uses of ReplayKit; see README.md.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverUseImplicitlyUnwrappedOptionals

@_exported import CoreMedia
@_exported import Foundation

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
