// What the snippets of the documentation take for granted: things that a reader's program has. Nothing here ever runs.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import FrameSocket
import FrameSocketAudio

/// Never returns: snippets are compiled, and not run.
private func absent<Value>() -> Value { fatalError("snippets are not run") }

public var path: String { absent() }
public var fallback: String { absent() }
public var jpeg: [UInt8] { absent() }
public var timestamp: UInt64 { absent() }
public var bytes: [UInt8] { absent() }
public var token: [UInt8] { absent() }
public var pieces: [[UInt8]] { absent() }
public var samples: [Int16] { absent() }
public var image: PixelBuffer { absent() }
public var images: [PixelBuffer] { absent() }
public var frame: Frame { absent() }
public var connection: FrameConnection { absent() }
public var sender: SocketConnection { absent() }
public var decoder: FrameDecoder { absent() }
public var uploader: SampleUploader { absent() }
public var appSound: AudioRingBuffer { absent() }
public var microphoneSound: AudioRingBuffer { absent() }
public var block: AudioBlock { absent() }
public var app: AudioRingBuffer.Pull { absent() }
public var microphone: AudioRingBuffer.Pull { absent() }
public var camera: Camera { absent() }

/// The signals that end a program, as the article on ending defines them.
public enum EndSignals {
    public static func make() async -> AsyncStream<Int32> { absent() }
}

/// As in swift-log.
public struct Logger: Sendable {
    public typealias Metadata = [String: MetadataValue]

    public struct MetadataValue: ExpressibleByStringInterpolation {
        public init(stringLiteral value: String) {}
    }

    public struct Message: ExpressibleByStringInterpolation {
        public init(stringLiteral value: String) {}
    }

    public enum Level: String { case trace, debug, info, notice, warning, error, critical }

    public init(label: String) {}
    public func log(level: Level, _ message: Message, metadata: Metadata?) {}
}

/// As in swift-service-lifecycle.
public protocol Service: Sendable {
    func run() async throws
}

public func withGracefulShutdownHandler<Result>(
    isolation: isolated (any Actor)? = #isolation,
    operation: () async throws -> Result,
    onGracefulShutdown handler: @Sendable @escaping () -> Void
) async rethrows -> Result {
    try await operation()
}

/// A source that can be started and stopped.
public struct Camera {
    public func start() {}
    public func stop() {}
}

public func openDirectory() -> Int32 { absent() }
public func show(_ image: PixelBuffer, _ orientation: FrameOrientation = .up, _ timestamp: UInt64? = nil) {}
public func show<Buffer>(_ buffer: Buffer, turnedBy degrees: Int) {}
public func record(_ frame: Frame) {}
public func play(_ samples: [Int16]) {}
public func send(_ bytes: [UInt8]) {}
public func write(_ bytes: Span<UInt8>) {}
public func append(_ bytes: ArraySlice<UInt8>, _ isLast: Bool) {}
public func prepare<Header>(_ header: Header) {}
public func note<Message>(_ message: Message) {}
public func skip() {}
public func encode(
    _ luma: Span<UInt8>,
    _ blue: Span<UInt8>,
    _ red: Span<UInt8>,
    _ strides: (Int, Int, Int),
    _ width: Int,
    _ height: Int
) {}
public func encodeWithC(_ luma: UnsafePointer<UInt8>?, _ chroma: UnsafePointer<UInt8>?) {}
