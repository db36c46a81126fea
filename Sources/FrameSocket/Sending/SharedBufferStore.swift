package import FrameTransport
package import FrameWire
internal import Locking
package import TurboJPEG

/// The memory of the shared buffers, and what was last copied into each.
///
/// ``Sharing`` decides which buffer is filled. One is filled at a time.
package final class SharedBufferStore: Sendable {
    fileprivate struct Buffer: Sendable {
        let memory: SharedMemory
        let generation: UInt64
        /// The image that was copied to it last.
        var image: PixelBuffer?
        /// The rows that were copied to other buffers since; nil if these were of another size or format.
        var stale: RowSet?
    }

    fileprivate struct State: Sendable {
        var buffers = [Buffer?](repeating: nil, count: Sharing.count)
        /// The buffer that was filled last.
        var latest: Int?
        /// The memory of earlier generations belongs to connections that have ended, and is not kept.
        var generation: UInt64 = 0
    }

    private let state = Locked(State())

    /// Creates a store without memory.
    package init() {}

    /// Releases the memory of generations before a number, except what a message still refers to.
    ///
    /// A job that began before may still need memory of such a generation: that is not kept either.
    package func removeAll(before generation: UInt64) {
        let buffers = state.withLock { state in
            let buffers = state.buffers
            state.generation = max(state.generation, generation)
            for index in buffers.indices where buffers[index].map({ $0.generation < generation }) ?? false {
                state.buffers[index] = nil
            }
            state.latest = nil
            return buffers
        }
        _ = consume buffers
    }

    /// Returns the memory of a buffer, which is new if there is none of this size.
    ///
    /// - Throws: The error of the system.
    package func memory(of place: Sharing.Place) throws(Errno) -> SharedMemory {
        let known = state.withLock { state in
            state.buffers[place.index].flatMap { $0.generation == place.generation ? $0.memory : nil }
        }
        if let known, known.byteCount == place.byteCount { return known }
        let memory = try SharedMemory(byteCount: place.byteCount)
        let replaced = state.withLock { state -> Buffer? in
            guard state.isCurrent(place) else { return nil }
            if state.latest == place.index { state.latest = nil }
            let replaced = state.buffers[place.index]
            state.buffers[place.index] = Buffer(memory: memory, generation: place.generation)
            return replaced
        }
        _ = consume replaced
        return memory
    }

    /// Copies an image to a buffer: only the rows that changed since the buffer was filled, if that is known.
    ///
    /// - Parameters:
    ///   - image: The image.
    ///   - orientation: Its orientation.
    ///   - place: The buffer.
    ///   - memory: The buffer's memory.
    ///   - damage: The rows in which the image may differ from the one that was copied last; nil if in any. The others are
    ///     not looked at.
    /// - Returns: The copy, with the rows in which it differs from the image that was copied before.
    /// - Throws: `byteCountMismatch` if the buffer is too small.
    package func copy(
        _ image: PixelBuffer,
        _ orientation: FrameOrientation,
        to place: Sharing.Place,
        in memory: SharedMemory,
        _ damage: RowSet? = nil
    ) throws(TurboJPEGError) -> SharedCopy {
        let (latest, own, stale) = state.withLock { $0.past(of: place, image) }
        let target = if let own { own } else { try unsafe PixelBuffer(in: memory.bytes, of: memory, like: image) }
        var changed = latest == nil ? nil : damage
        if let latest, damage?.isEmpty != true { changed = try image.rows(differingFrom: latest, within: damage) }
        var rows = changed
        if let stale { rows?.formUnion(stale) } else { rows = nil }
        try unsafe image.copy(rows, over: target)
        state.withLock { $0.filled(place, target, changed) }
        return SharedCopy(
            pixels: target,
            place: place,
            memory: memory,
            orientation: orientation,
            changedRows: changed?.range
        )
    }
}

extension SharedBufferStore.State {
    /// Whether a buffer's memory is kept.
    fileprivate func isCurrent(_ place: Sharing.Place) -> Bool { place.generation >= generation }

    /// Returns the image that was copied last, the buffer's own, and the rows in which they differ; nil for images of another
    /// size or format than the next one, and for rows that are not known.
    fileprivate func past(
        of place: Sharing.Place,
        _ next: PixelBuffer
    ) -> (latest: PixelBuffer?, own: PixelBuffer?, stale: RowSet?) {
        guard isCurrent(place) else { return (nil, nil, nil) }
        func alike(_ image: PixelBuffer?) -> PixelBuffer? {
            image.flatMap { $0.size == next.size && $0.format == next.format ? $0 : nil }
        }
        let own = buffers[place.index]
        return (alike(latest.flatMap { buffers[$0]?.image }), alike(own?.image), own?.stale)
    }

    /// Records the latest image, which differs from the one before it in these rows; nil if in any.
    fileprivate mutating func filled(_ place: Sharing.Place, _ image: PixelBuffer, _ changed: RowSet?) {
        guard isCurrent(place) else { return }
        for index in buffers.indices {
            if let changed { buffers[index]?.stale?.formUnion(changed) } else { buffers[index]?.stale = nil }
        }
        buffers[place.index]?.image = image
        if buffers[place.index]?.stale?.removeAll() == nil {
            buffers[place.index]?.stale = RowSet(height: image.height)
        }
        latest = place.index
    }
}
