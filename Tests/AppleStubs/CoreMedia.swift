// What FrameSocketApple uses of CoreMedia, and by it of CoreAudioTypes; see README.md.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverUseImplicitlyUnwrappedOptionals

@_exported import CoreFoundation
@_exported import CoreVideo

open class CMSampleBuffer {
    let image: CVImageBuffer?
    let sound: (bytes: CMBlockBuffer, format: CMFormatDescription)?
    let time: CMTime
    let attachments: [CFString: CFTypeRef]

    /// An image or sound.
    public init(
        standIn image: CVImageBuffer? = nil,
        sound: (bytes: [UInt8], format: AudioStreamBasicDescription)? = nil,
        time: CMTime,
        attachments: [CFString: CFTypeRef] = [:]
    ) {
        self.image = image
        self.sound = sound.map { (CMBlockBuffer($0.bytes), CMFormatDescription($0.format)) }
        self.time = time
        self.attachments = attachments
    }
}

open class CMBlockBuffer {
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
}

open class CMFormatDescription {
    let basic: UnsafeMutablePointer<AudioStreamBasicDescription>

    init(_ description: AudioStreamBasicDescription) {
        basic = .allocate(capacity: 1)
        basic.initialize(to: description)
    }

    deinit {
        basic.deallocate()
    }
}

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

    public init(value: Int64, timescale: Int32, flags: CMTimeFlags, epoch: Int64) {
        (self.value, self.timescale, self.flags, self.epoch) = (value, timescale, flags, epoch)
    }
}

public enum CMTimeRoundingMethod: UInt32, Sendable {
    case roundHalfAwayFromZero = 1
    public static var `default`: CMTimeRoundingMethod { .roundHalfAwayFromZero }
}

public func CMTimeConvertScale(_ time: CMTime, timescale newTimescale: Int32, method: CMTimeRoundingMethod) -> CMTime {
    let (product, overflow) = time.value.multipliedReportingOverflow(by: Int64(newTimescale))
    precondition(!overflow, "times of a test are small")
    return CMTime(value: product / Int64(time.timescale), timescale: newTimescale, flags: time.flags, epoch: time.epoch)
}

public func CMSampleBufferGetImageBuffer(_ buffer: CMSampleBuffer) -> CVImageBuffer? { buffer.image }
public func CMSampleBufferGetDataBuffer(_ buffer: CMSampleBuffer) -> CMBlockBuffer? { buffer.sound?.bytes }
public func CMSampleBufferGetFormatDescription(_ buffer: CMSampleBuffer) -> CMFormatDescription? {
    buffer.sound?.format
}
public func CMSampleBufferGetPresentationTimeStamp(_ buffer: CMSampleBuffer) -> CMTime {
    buffer.time
}

public func CMGetAttachment(
    _ target: CMAttachmentBearer,
    key: CFString,
    attachmentModeOut: UnsafeMutablePointer<CMAttachmentMode>?
) -> CFTypeRef? { (target as? CMSampleBuffer)?.attachments[key] }

public func CMBlockBufferGetDataLength(_ buffer: CMBlockBuffer) -> Int { buffer.bytes.count }
public func CMBlockBufferCopyDataBytes(
    _ buffer: CMBlockBuffer,
    atOffset: Int,
    dataLength: Int,
    destination: UnsafeMutableRawPointer
) -> OSStatus {
    guard atOffset >= 0, dataLength >= 0, atOffset + dataLength <= buffer.bytes.count else { return -1 }
    UnsafeMutableRawBufferPointer(start: destination, count: dataLength)
        .copyBytes(from: buffer.bytes[atOffset..<atOffset + dataLength])
    return noErr
}

public struct AudioStreamBasicDescription: Sendable {
    public var mSampleRate: Double
    public var mFormatID: UInt32
    public var mFormatFlags: UInt32
    public var mChannelsPerFrame: UInt32
    public var mBitsPerChannel: UInt32

    public init(sampleRate: Double, formatID: UInt32, flags: UInt32, channels: UInt32, bits: UInt32) {
        (mSampleRate, mFormatID, mFormatFlags) = (sampleRate, formatID, flags)
        (mChannelsPerFrame, mBitsPerChannel) = (channels, bits)
    }
}

public var kAudioFormatLinearPCM: UInt32 { 0x6C70_636D }
public var kAudioFormatFlagIsBigEndian: UInt32 { 1 << 1 }
public var kAudioFormatFlagIsSignedInteger: UInt32 { 1 << 2 }
public var kAudioFormatFlagIsNonInterleaved: UInt32 { 1 << 5 }

public func CMAudioFormatDescriptionGetStreamBasicDescription(
    _ description: CMAudioFormatDescription
) -> UnsafePointer<AudioStreamBasicDescription>? { UnsafePointer(description.basic) }
