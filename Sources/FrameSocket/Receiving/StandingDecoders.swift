internal import FrameTransport
internal import TurboJPEG

/// The decoders that keep the latest frame of a connection, so many as are allowed.
struct StandingDecoders: Sendable {
    /// What frames have in common that follow one another.
    ///
    /// It holds on to what stands for the connection, as one that has ended must not be taken for the next one.
    struct Key: Sendable {
        let connection: DecodingTally
        let format: PixelFormat

        func isSame(as other: Key) -> Bool { connection === other.connection && format == other.format }
    }

    private let limit: Int
    /// Those that were used last stand at the end.
    private var decoders: [(key: Key, decoder: StripDecoder)] = []

    init(limit: Int) {
        self.limit = limit
    }

    /// The decoder for a key; a new one takes the place of the one that has not been used for longest.
    mutating func decoder(for key: Key, make: () -> StripDecoder) -> StripDecoder? {
        guard limit > 0 else { return nil }
        if let index = decoders.firstIndex(where: { $0.key.isSame(as: key) }) {
            let found = decoders.remove(at: index)
            decoders.append(found)
            return found.decoder
        }
        if decoders.count >= limit { decoders.removeFirst() }
        let decoder = make()
        decoders.append((key, decoder))
        return decoder
    }
}
