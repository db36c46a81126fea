// Type-checked against stubs, not run on a device.

#if canImport(CoreMedia)
    public import CoreMedia
    public import FrameSocket
#else
    internal import FrameSocket
#endif

/// The memory layout of audio samples, as described by an `AudioStreamBasicDescription`.
struct LinearPCM: Sendable, Hashable {
    var sampleRate: Double
    var channels: Int
    var bitsPerChannel: Int
    var isSignedInteger: Bool
    var isBigEndian: Bool
    var isInterleaved: Bool

    /// Returns the audio in bytes of this layout.
    ///
    /// - Throws: `unsupportedFormat` unless the layout is signed 16-bit, interleaved, of one or two channels at 8 to
    ///   192 kHz; `incompleteFrame`.
    func block(of bytes: Span<UInt8>, _ kind: AudioKind, timestamp: UInt64?) throws(AudioError) -> AudioBlock {
        guard isSignedInteger, bitsPerChannel == 16, isInterleaved || channels == 1,
            let sampleRate = Int(exactly: sampleRate)
        else {
            throw AudioError(.unsupportedFormat, "only interleaved 16-bit integer audio at whole rates can be sent")
        }
        let format = try AudioBlock.Format(sampleRate: sampleRate, channels: channels)
        guard bytes.count.isMultiple(of: 2) else {
            throw AudioError(.incompleteFrame, "\(bytes.count) bytes are not a whole number of 2-byte samples")
        }
        let samples = [Int16](capacity: bytes.count / 2) { output in
            for index in 0..<bytes.count / 2 {
                let (first, second) = (Int(bytes[2 * index]), Int(bytes[2 * index + 1]))
                output.append(Int16(truncatingIfNeeded: isBigEndian ? first << 8 | second : second << 8 | first))
            }
        }
        return try AudioBlock(kind: kind, format: format, timestamp: timestamp, samples: samples)
    }
}

#if canImport(CoreMedia)
    extension AudioBlock {
        /// Creates a block by copying the audio of a Core Media sample buffer.
        ///
        /// ReplayKit provides 16-bit integers, with an app's audio in big-endian order; both byte orders are supported.
        ///
        /// - Throws: `unsupportedFormat` if the buffer contains no audio, or audio that is not interleaved 16-bit
        ///   integers of one or two channels at 8 to 192 kHz; `incompleteFrame` if its bytes are not whole frames or
        ///   cannot be read.
        public init(_ buffer: CMSampleBuffer, kind: AudioKind) throws(AudioError) {
            guard let description = CMSampleBufferGetFormatDescription(buffer),
                let basic = unsafe CMAudioFormatDescriptionGetStreamBasicDescription(description)?.pointee,
                basic.mFormatID == kAudioFormatLinearPCM, let data = CMSampleBufferGetDataBuffer(buffer)
            else {
                throw AudioError(.unsupportedFormat, "the sample buffer contains no uncompressed audio")
            }
            let layout = LinearPCM(
                sampleRate: basic.mSampleRate,
                channels: Int(basic.mChannelsPerFrame),
                bitsPerChannel: Int(basic.mBitsPerChannel),
                isSignedInteger: basic.mFormatFlags & kAudioFormatFlagIsSignedInteger != 0,
                isBigEndian: basic.mFormatFlags & kAudioFormatFlagIsBigEndian != 0,
                isInterleaved: basic.mFormatFlags & kAudioFormatFlagIsNonInterleaved == 0
            )
            let count = CMBlockBufferGetDataLength(data)
            let bytes = [UInt8](capacity: count) { output in
                unsafe output.withUnsafeMutableBufferPointer { target, written in
                    guard let start = target.baseAddress else { return }
                    let status = unsafe CMBlockBufferCopyDataBytes(
                        data,
                        atOffset: 0,
                        dataLength: count,
                        destination: start
                    )
                    if status == noErr { written = count }
                }
            }
            guard bytes.count == count else {
                throw AudioError(.incompleteFrame, "the bytes of the sample buffer cannot be read")
            }
            let content = bytes[...]
            self = try layout.block(of: content.span, kind, timestamp: buffer.presentationNanoseconds)
        }
    }
#endif
