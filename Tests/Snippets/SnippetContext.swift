// What the snippets of the documentation take for granted: things that a reader's program has. Nothing here ever runs.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import FrameSocket
import FrameSocketAudio

/// Never returns: snippets are compiled, and not run.
private func absent<Value>() -> Value { fatalError("snippets are not run") }

public var path: String { absent() }
public var bytes: [UInt8] { absent() }
public var token: [UInt8] { absent() }
public var pieces: [[UInt8]] { absent() }
public var samples: [Int16] { absent() }
public var image: PixelBuffer { absent() }
public var images: [PixelBuffer] { absent() }
public var frame: Frame { absent() }
public var connection: FrameConnection { absent() }
public var decoder: FrameDecoder { absent() }
public var uploader: SampleUploader { absent() }
public var appSound: AudioRingBuffer { absent() }
public var microphoneSound: AudioRingBuffer { absent() }

public func openDirectory() -> Int32 { absent() }
public func show(_ image: PixelBuffer, _ orientation: FrameOrientation = .up, _ timestamp: UInt64? = nil) {}
public func record(_ frame: Frame) {}
public func play(_ samples: [Int16]) {}
public func send(_ bytes: [UInt8]) {}
public func write(_ bytes: Span<UInt8>) {}
public func encode(
    _ luma: Span<UInt8>,
    _ blue: Span<UInt8>,
    _ red: Span<UInt8>,
    _ strides: (Int, Int, Int),
    _ width: Int,
    _ height: Int
) {}
public func encodeWithC(_ luma: UnsafePointer<UInt8>?, _ chroma: UnsafePointer<UInt8>?) {}
