internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// The decoders that keep the latest frame of a consumer, and its image: twice if the consumer still holds the last image when
/// the next frame arrives.
///
/// Consumers are connections and the readers of fan-outs, counted per format. The least recently used one makes room, and what
/// is kept of a connection that has ended is released with the next frame of another.
struct DecoderCache: Sendable {
    /// The decoder for one consumer and format.
    private struct Entry: Sendable {
        /// Identifies the connection; nil after it has ended and its frames are released.
        weak var connection: DecodingTally?
        let key: Key
        let decoder: StripDecoder
        /// The size and form of the latest image; nil if the next frame cannot be compared with its image.
        var geometry: Geometry?
        /// The index of the latest frame, if it was in shared memory.
        var sharedIndex: Int?

        func isOf(_ frame: Frame, _ format: PixelFormat) -> Bool {
            key == Key(reader: frame.reader, format: format) && connection != nil && connection === frame.tally
        }
    }

    /// The consumer of a connection, and the format that it wants.
    private struct Key: Sendable, Hashable {
        let reader: UInt64
        let format: PixelFormat
    }

    private struct Geometry: Sendable, Hashable {
        let size: BufferSize
        let orientation: FrameOrientation
        let viewport: FrameDecoder.Viewport?
    }

    /// The most decoders.
    private static let limit = 4

    /// Ordered from the least to the most recently used.
    private var entries: [Entry] = []

    /// The number of decoders.
    var count: Int { entries.count }

    /// Releases the decoders of connections that have ended.
    mutating func releaseEnded() {
        entries.removeAll { $0.connection == nil }
    }

    /// Returns the decoder for a frame's consumer and a format; a new one reentries the least recently used.
    mutating func decoder(for frame: Frame, as format: PixelFormat, make: () -> StripDecoder) -> StripDecoder? {
        guard let connection = frame.tally else { return nil }
        releaseEnded()
        if let index = entries.firstIndex(where: { $0.isOf(frame, format) }) {
            let found = entries.remove(at: index)
            entries.append(found)
            return found.decoder
        }
        if entries.count >= Self.limit { entries.removeFirst() }
        let decoder = make()
        entries.append(Entry(connection: connection, key: Key(reader: frame.reader, format: format), decoder: decoder))
        return decoder
    }

    /// Records that a decoded frame was not returned: the next one cannot be compared with it.
    mutating func noteLost(_ frame: Frame, as format: PixelFormat) {
        guard let index = entries.firstIndex(where: { $0.isOf(frame, format) }) else { return }
        (entries[index].geometry, entries[index].sharedIndex) = (nil, nil)
    }

    /// Records that a frame was decoded, at full size or not, for a viewport or none.
    ///
    /// - Returns: Whether its image can be compared with the last one that its consumer received.
    mutating func noteDecoded(
        _ frame: Frame,
        as format: PixelFormat,
        in viewport: FrameDecoder.Viewport?,
        isFullSize: Bool
    ) -> Bool {
        guard let index = entries.firstIndex(where: { $0.isOf(frame, format) }) else { return false }
        let geometry =
            isFullSize ? Geometry(size: frame.bufferSize, orientation: frame.orientation, viewport: viewport) : nil
        let (last, lastShared) = (entries[index].geometry, entries[index].sharedIndex)
        (entries[index].geometry, entries[index].sharedIndex) = (geometry, frame.shared == nil ? nil : frame.index)
        guard geometry != nil, last == geometry else { return false }
        // The changes of a shared frame are those since the frame before it, those of a JPEG since the last one decoded.
        guard frame.shared == nil else { return lastShared == frame.index - 1 }
        return lastShared == nil
    }
}
