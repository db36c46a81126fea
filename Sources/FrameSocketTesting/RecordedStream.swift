internal import CRecordedStreams

/// Everything that a sender wrote on one connection, and what a receiver must make of it.
///
/// The headers are those that the published clients of Jitsi, react-native-webrtc, flutter-webrtc and GetStream write.
/// `Fixtures/README.md` says how the streams were made, and which of them no known peer sends.
public struct RecordedStream: Sendable, CustomStringConvertible {
    /// One frame of a stream.
    public struct Frame: Sendable, Hashable {
        /// The width that the header states, in pixels.
        public let width: Int
        /// The height that the header states, in pixels.
        public let height: Int
        /// The orientation that the header states: 0 (unknown) to 8.
        public let orientation: Int
        /// The position of the header in the stream's bytes, including its empty line.
        public let header: Range<Int>
        /// The position of the body in the stream's bytes, including padding.
        public let body: Range<Int>
        /// The width of the JPEG, at most one pixel more than the header states.
        public let jpegWidth: Int
        /// The height of the JPEG, at most one pixel more than the header states.
        public let jpegHeight: Int

        /// The degrees clockwise by which existing Jitsi receivers rotate the image, for its orientation.
        public var rotation: Int { [3: 180, 6: 270, 8: 90][orientation] ?? 0 }

        init(
            _ width: Int,
            _ height: Int,
            _ orientation: Int,
            _ headerOffset: Int,
            _ bodyOffset: Int,
            _ bodyCount: Int,
            _ jpegWidth: Int,
            _ jpegHeight: Int
        ) {
            (self.width, self.height, self.orientation) = (width, height, orientation)
            (header, body) = (headerOffset..<bodyOffset, bodyOffset..<bodyOffset + bodyCount)
            (self.jpegWidth, self.jpegHeight) = (jpegWidth, jpegHeight)
        }
    }

    /// The position within a message at which a stream ends.
    public struct Cut: Sendable, Hashable {
        /// A part of a message.
        public enum Part: Sendable, Hashable {
            /// The lines before the body.
            case header
            /// The bytes that the header's `Content-Length` counts.
            case body
        }

        /// The part that the stream ends in.
        public let part: Part
        /// The number of bytes of that part that the stream contains.
        public let count: Int
        /// The number of bytes that the whole body would have.
        public let bodyCount: Int?

        init(in part: Part, after count: Int, of bodyCount: Int? = nil) {
            (self.part, self.count, self.bodyCount) = (part, count, bodyCount)
        }
    }

    /// The name, which is that of the file in `Fixtures/streams` without its extension.
    public let name: String
    /// What the stream contains, in one sentence.
    public let summary: String
    /// The whole frames, in the order in which a receiver must deliver them.
    public let frames: [Frame]
    /// Where the stream ends within a message, or nil if it ends between two.
    public let cut: Cut?

    /// The bytes, up to the sender's end: a copy of what the library embeds.
    public var bytes: [UInt8] {
        let found = unsafe recorded_stream(name)
        return unsafe Array(UnsafeBufferPointer(start: found.bytes, count: found.count))
    }

    /// The bodies of the frames, padding included.
    public var bodies: [[UInt8]] {
        let bytes = bytes
        return frames.map { Array(bytes[$0.body]) }
    }

    /// The name.
    public var description: String { name }
}
