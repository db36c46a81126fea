// Type-checked against stubs, not run on a device.

#if canImport(CoreMedia)
    public import CoreMedia
    public import FrameSocket

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
                let basic = unsafe CMAudioFormatDescriptionGetStreamBasicDescription(description),
                let data = CMSampleBufferGetDataBuffer(buffer)
            else {
                throw AudioError(.unsupportedFormat, "the sample buffer contains no audio")
            }
            let layout = try unsafe LinearPCM(basic.pointee)
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

    extension LinearPCM {
        /// Creates the layout from a Core Audio description.
        ///
        /// - Throws: `unsupportedFormat` if it is not linear PCM.
        fileprivate init(_ description: AudioStreamBasicDescription) throws(AudioError) {
            guard description.mFormatID == kAudioFormatLinearPCM else {
                throw AudioError(
                    .unsupportedFormat,
                    "the sample buffer contains compressed audio; only linear PCM can be sent"
                )
            }
            let flags = description.mFormatFlags
            self.init(
                sampleRate: description.mSampleRate,
                channels: Int(description.mChannelsPerFrame),
                bitsPerChannel: Int(description.mBitsPerChannel),
                isSignedInteger: flags & kAudioFormatFlagIsSignedInteger != 0,
                isBigEndian: flags & kAudioFormatFlagIsBigEndian != 0,
                isInterleaved: flags & kAudioFormatFlagIsNonInterleaved == 0
            )
        }
    }

    extension CMSampleBuffer {
        /// The presentation time, in nanoseconds of the source's clock; nil if it states none.
        var presentationNanoseconds: UInt64? {
            let time = CMSampleBufferGetPresentationTimeStamp(self)
            // Neither infinite nor indefinite.
            guard time.flags.subtracting(.hasBeenRounded) == .valid else { return nil }
            let nanoseconds = CMTimeConvertScale(time, timescale: 1_000_000_000, method: .default)
            return UInt64(exactly: nanoseconds.value)
        }
    }
#endif
