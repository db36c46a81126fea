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
        package let jpegWidth: Int
        /// The height of the JPEG, at most one pixel more than the header states.
        package let jpegHeight: Int

        /// The degrees clockwise by which existing Jitsi receivers rotate the image, for its orientation.
        package var rotation: Int { [3: 180, 6: 270, 8: 90][orientation] ?? 0 }
    }

    /// The position within a message at which a stream ends.
    package struct Cut: Sendable, Hashable {
        /// A part of a message.
        package enum Part: Sendable, Hashable {
            /// The lines before the body.
            case header
            /// The bytes that the header's `Content-Length` counts.
            case body
        }

        /// The part that the stream ends in.
        package let part: Part
        /// The number of bytes of that part that the stream contains.
        package let count: Int
        /// The number of bytes that the whole body would have.
        package let bodyCount: Int?
    }

    /// The name, which is that of the file in `Fixtures/streams` without its extension.
    public let name: String
    /// The whole frames, in the order in which a receiver must deliver them.
    public let frames: [Frame]
    /// Where the stream ends within a message, or nil if it ends between two.
    package let cut: Cut?

    /// The bytes, up to the sender's end.
    public let bytes: [UInt8]

    /// The bodies of the frames, padding included.
    public var bodies: [[UInt8]] { frames.map { Array(bytes[$0.body]) } }

    /// The name.
    public var description: String { name }
}

extension RecordedStream {
    /// Every stream, by name.
    public static let all = [
        "cut-in-body", "cut-in-head", "getstream-quality-70", "head-inside-body", "jitsi-562-on-563",
        "names-and-unknown-fields", "order-current", "order-older", "orientations", "small-frames", "zero-padded",
    ].map { RecordedStream($0) }

    /// Two whole frames, then one cut off in its body.
    public static let cutInBody = RecordedStream("cut-in-body")
    /// Forty frames of less than 10,240 bytes, back to back.
    package static let smallFrames = RecordedStream("small-frames")
    /// Bodies padded with zero bytes after EOI to 10,240 bytes, counted in Content-Length.
    package static let zeroPadded = RecordedStream("zero-padded")

    /// Finds the messages in the bytes that are embedded under a name.
    private init(_ name: String) {
        let embedded = unsafe recorded_stream(name)
        self.name = name
        bytes = unsafe Array(UnsafeBufferPointer(start: embedded.bytes, count: embedded.count))
        var (frames, cut, rest) = ([Frame](), Cut?.none, bytes[...])
        while !rest.isEmpty {
            guard let start = rest.firstRange(of: PeerMessage.emptyLine)?.upperBound else {
                cut = Cut(part: .header, count: rest.count, bodyCount: nil)
                break
            }
            let message = PeerMessage(header: String(decoding: rest[..<start], as: UTF8.self))
            let length = message.number("Content-Length") ?? 0
            let body = rest[start...].prefix(length)
            if body.count < length {
                cut = Cut(part: .body, count: body.count, bodyCount: length)
                break
            }
            let (jpegWidth, jpegHeight) = Self.size(ofJPEG: body)
            let frame = Frame(
                width: message.width ?? 0,
                height: message.height ?? 0,
                orientation: message.number("Buffer-Orientation") ?? 0,
                header: rest.startIndex..<start,
                body: start..<body.endIndex,
                jpegWidth: jpegWidth,
                jpegHeight: jpegHeight
            )
            frames.append(frame)
            rest = rest[body.endIndex...]
        }
        (self.frames, self.cut) = (frames, cut)
    }

    /// Returns the width and height in the start-of-frame segment of a JPEG.
    private static func size(ofJPEG bytes: ArraySlice<UInt8>) -> (Int, Int) {
        var offset = bytes.startIndex + 2
        while offset + 9 <= bytes.endIndex {
            func number(_ place: Int) -> Int { Int(bytes[offset + place]) << 8 | Int(bytes[offset + place + 1]) }
            if 0xC0...0xC2 ~= bytes[offset + 1] { return (number(7), number(5)) }
            offset += 2 + number(2)
        }
        return (0, 0)
    }
}
