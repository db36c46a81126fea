internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// The decoders that keep the latest frame of a consumer, as many as are allowed.
struct StandingDecoders: Sendable {
    /// What decodes frames that follow one another.
    private struct Place: Sendable {
        /// What stands for the connection; nil when that has ended and all its frames are gone.
        weak var connection: DecodingTally?
        let key: Key
        let decoder: StripDecoder
        /// What the latest frame said of its image beside the JPEG; nil if that image is not what the next one is compared with.
        var shape: Shape?

        func isOf(_ frame: Frame, _ format: PixelFormat) -> Bool {
            key == Key(reader: frame.reader, format: format) && connection != nil && connection === frame.tally
        }
    }

    /// The consumer of a connection, and the format that it wants.
    private struct Key: Sendable, Hashable {
        let reader: UInt64
        let format: PixelFormat
    }

    private struct Shape: Sendable, Hashable {
        let size: BufferSize
        let orientation: FrameOrientation
    }

    private let limit: Int
    /// Those that were used last stand at the end.
    private var places: [Place] = []

    init(limit: Int) {
        self.limit = limit
    }

    /// The decoder for a frame's consumer and a format; a new one takes the place of the one that has not been used for longest.
    ///
    /// Those of connections that have ended are given up.
    mutating func decoder(for frame: Frame, as format: PixelFormat, make: () -> StripDecoder) -> StripDecoder? {
        guard limit > 0, let connection = frame.tally else { return nil }
        places.removeAll { $0.connection == nil }
        if let index = places.firstIndex(where: { $0.isOf(frame, format) }) {
            let found = places.remove(at: index)
            places.append(found)
            return found.decoder
        }
        if places.count >= limit { places.removeFirst() }
        let decoder = make()
        places.append(Place(connection: connection, key: Key(reader: frame.reader, format: format), decoder: decoder))
        return decoder
    }

    /// Notes that a frame was decoded, in its full size or not.
    ///
    /// - Returns: Whether its image can be compared with the last one that its consumer got.
    mutating func noteDecoded(_ frame: Frame, as format: PixelFormat, isFullSize: Bool) -> Bool {
        guard let index = places.firstIndex(where: { $0.isOf(frame, format) }) else { return false }
        let shape = isFullSize ? Shape(size: frame.bufferSize, orientation: frame.orientation) : nil
        defer { places[index].shape = shape }
        return shape != nil && places[index].shape == shape
    }
}
