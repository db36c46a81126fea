package import FrameWire

/// A decoder of messages or of requests.
package protocol FuzzedDecoder {
    associatedtype Event: Equatable

    init()

    /// Decodes bytes from the front; the event is nil if they are a part of something.
    mutating func next(_ bytes: Span<UInt8>) throws(WireError) -> (consumed: Int, event: Event?)

    mutating func finish() throws(WireError)
}

/// What comes out of a decoder.
package struct StreamOutcome<Decoder: FuzzedDecoder>: Equatable {
    private struct Entry: Equatable {
        let event: Decoder.Event
        let end: Int
    }

    private var entries: [Entry] = []
    private var error: WireError?

    /// Ends the process if it makes a difference how bytes are cut, and returns the events.
    package static func checkedEvents(of bytes: Span<UInt8>) -> [Decoder.Event] {
        let whole = Self(of: bytes, cutAbout: 1 << 40)
        for distance in [200, 9] as [UInt64] where Self(of: bytes, cutAbout: distance) != whole {
            fatalError("it makes a difference to be cut about every \(distance) bytes")
        }
        return whole.entries.map(\.event)
    }

    /// What comes out of bytes that are cut at random places, on average so far apart.
    private init(of bytes: Span<UInt8>, cutAbout distance: UInt64) {
        var decoder = Decoder()
        var state = UInt64(bytes.count) &* 0x9E37_79B9 ^ distance
        do throws(WireError) {
            var start = 0
            while start < bytes.count {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let end = start + Int(min(1 + (state >> 33) % (2 * distance), UInt64(bytes.count - start)))
                while start < end {
                    let (consumed, event) = try decoder.next(bytes.extracting(start..<end))
                    start += consumed
                    if let event { entries.append(Entry(event: event, end: start)) }
                }
            }
            try decoder.finish()
        } catch {
            self.error = error
        }
    }
}
