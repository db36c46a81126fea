package import FrameTransport
package import FrameWire
internal import Locking
package import TurboJPEG

/// The memory of the shared buffers, and what was last copied into each.
///
/// ``Sharing`` decides which buffer is filled. One is filled at a time.
package final class SharedBufferStore: Sendable {
    fileprivate struct Geometry: Sendable, Hashable {
        let width: Int
        let height: Int
        let format: PixelFormat
    }

    fileprivate struct Buffer: Sendable {
        let memory: SharedMemory
        let generation: UInt64
        /// The rows that were copied to other buffers since this one was filled.
        ///
        /// Nil if its content is not that of an earlier image of ``State/geometry``.
        var stale: RowSet?
    }

    fileprivate struct State: Sendable {
        var buffers = [Buffer?](repeating: nil, count: Sharing.count)
        /// The size and format of the last images that were copied.
        var geometry: Geometry?
        /// The buffer that it was copied to.
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
            (state.geometry, state.latest) = (nil, nil)
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
        let geometry = Geometry(width: image.width, height: image.height, format: image.format)
        let (latest, stale, damaged) = state.withLock { $0.past(of: place, geometry, damage) }
        let target = try unsafe PixelBuffer(in: memory.bytes, of: memory, like: image)
        var changed = damaged
        if let latest, damaged?.isEmpty != true {
            changed = try image.rows(
                differingFrom: unsafe PixelBuffer(in: latest.bytes, of: latest, like: image),
                within: damaged
            )
        }
        var rows = changed
        if let stale { rows?.formUnion(stale) } else { rows = nil }
        try unsafe image.copy(rows, over: target)
        state.withLock { $0.filled(place, geometry, changed) }
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

    /// Returns the past of a buffer: the memory of the image that was copied last, the rows in which the buffer differs from
    /// that, and those in which the next image may; nil if they are not known.
    fileprivate func past(
        of place: Sharing.Place,
        _ geometry: SharedBufferStore.Geometry,
        _ damage: RowSet?
    ) -> (latest: SharedMemory?, stale: RowSet?, damaged: RowSet?) {
        guard self.geometry == geometry, isCurrent(place) else { return (nil, nil, nil) }
        return (
            latest.flatMap { buffers[$0]?.memory }, buffers[place.index]?.stale, latest == nil ? nil : damage
        )
    }

    /// Records the latest image, which differs from the one before it in these rows; nil if in any.
    fileprivate mutating func filled(
        _ place: Sharing.Place,
        _ geometry: SharedBufferStore.Geometry,
        _ changed: RowSet?
    ) {
        guard isCurrent(place) else { return }
        for index in buffers.indices {
            if let changed { buffers[index]?.stale?.formUnion(changed) } else { buffers[index]?.stale = nil }
        }
        buffers[place.index]?.stale = RowSet(height: geometry.height)
        (self.geometry, latest) = (geometry, place.index)
    }
}
