// What FrameSocketApple uses of CoreMedia, and by it of CoreAudioTypes; see README.md.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverUseImplicitlyUnwrappedOptionals

@_exported import CoreFoundation
@_exported import CoreVideo

open class CMSampleBuffer {}
open class CMBlockBuffer {}
open class CMFormatDescription {}
public typealias CMAudioFormatDescription = CMFormatDescription
public typealias CMAttachmentBearer = AnyObject
public typealias CMAttachmentMode = UInt32

public struct CMTimeFlags: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public static let valid = CMTimeFlags(rawValue: 1)
    public static let hasBeenRounded = CMTimeFlags(rawValue: 2)
}

public struct CMTime: Sendable {
    public var value: Int64
    public var timescale: Int32
    public var flags: CMTimeFlags
    public var epoch: Int64
}

public enum CMTimeRoundingMethod: UInt32, Sendable {
    case roundHalfAwayFromZero = 1
    public static var `default`: CMTimeRoundingMethod { .roundHalfAwayFromZero }
}

public func CMTimeConvertScale(_ time: CMTime, timescale newTimescale: Int32, method: CMTimeRoundingMethod) -> CMTime {
    time
}

public func CMSampleBufferGetImageBuffer(_ buffer: CMSampleBuffer) -> CVImageBuffer? { nil }
public func CMSampleBufferGetDataBuffer(_ buffer: CMSampleBuffer) -> CMBlockBuffer? { nil }
public func CMSampleBufferGetFormatDescription(_ buffer: CMSampleBuffer) -> CMFormatDescription? { nil }
public func CMSampleBufferGetPresentationTimeStamp(_ buffer: CMSampleBuffer) -> CMTime {
    CMTime(value: 0, timescale: 1, flags: [], epoch: 0)
}

public func CMGetAttachment(
    _ target: CMAttachmentBearer,
    key: CFString,
    attachmentModeOut: UnsafeMutablePointer<CMAttachmentMode>?
) -> CFTypeRef? { nil }

public func CMBlockBufferGetDataLength(_ buffer: CMBlockBuffer) -> Int { 0 }
public func CMBlockBufferCopyDataBytes(
    _ buffer: CMBlockBuffer,
    atOffset: Int,
    dataLength: Int,
    destination: UnsafeMutableRawPointer
) -> OSStatus { 0 }

public struct AudioStreamBasicDescription: Sendable {
    public var mSampleRate: Double
    public var mFormatID: UInt32
    public var mFormatFlags: UInt32
    public var mChannelsPerFrame: UInt32
    public var mBitsPerChannel: UInt32
}

public var kAudioFormatLinearPCM: UInt32 { 0x6C70_636D }
public var kAudioFormatFlagIsBigEndian: UInt32 { 1 << 1 }
public var kAudioFormatFlagIsSignedInteger: UInt32 { 1 << 2 }
public var kAudioFormatFlagIsNonInterleaved: UInt32 { 1 << 5 }

public func CMAudioFormatDescriptionGetStreamBasicDescription(
    _ description: CMAudioFormatDescription
) -> UnsafePointer<AudioStreamBasicDescription>? { nil }
