internal import FrameTransport
internal import TurboJPEG

/// The decoders that keep the latest frame of a connection, so many as are allowed.
struct StandingDecoders: Sendable {
    /// What decodes frames that follow one another.
    private struct Place: Sendable {
        /// What stands for the connection; nil when that has ended and all its frames are gone.
        weak var connection: DecodingTally?
        let format: PixelFormat
        let decoder: StripDecoder
    }

    private let limit: Int
    /// Those that were used last stand at the end.
    private var places: [Place] = []

    init(limit: Int) {
        self.limit = limit
    }

    /// The decoder for a connection and a format; a new one takes the place of the one that has not been used for longest.
    ///
    /// Those of connections that have ended are given up.
    mutating func decoder(
        for connection: DecodingTally,
        as format: PixelFormat,
        make: () -> StripDecoder
    ) -> StripDecoder? {
        guard limit > 0 else { return nil }
        places.removeAll { $0.connection == nil }
        if let index = places.firstIndex(where: { $0.connection === connection && $0.format == format }) {
            let found = places.remove(at: index)
            places.append(found)
            return found.decoder
        }
        if places.count >= limit { places.removeFirst() }
        let decoder = make()
        places.append(Place(connection: connection, format: format, decoder: decoder))
        return decoder
    }
}
