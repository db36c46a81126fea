package import FrameTransport
internal import FrameWire
internal import Locking
package import TurboJPEG

/// The memory of the shared buffers, and what was last copied into each.
///
/// ``SharedPool`` decides which buffer is filled with what.
package final class SharedBufferStore: Sendable {
    fileprivate struct Geometry: Sendable, Hashable {
        let width: Int
        let height: Int
        let format: PixelFormat
    }

    fileprivate struct Buffer: Sendable {
        let memory: SharedMemory
        /// The number of the lease that the memory was created for.
        let firstLease: UInt64
        /// The rows that were copied to other buffers since this one was filled.
        ///
        /// Nil if its content is not that of an earlier image of ``State/geometry``.
        var stale: RowSet?
    }

    fileprivate struct State: Sendable {
        var buffers = [Buffer?](repeating: nil, count: SharedFrameHeader.Buffer.indices.count)
        /// The size and format of the last images that were copied.
        var geometry: Geometry?
        /// The number of the last image that was copied, 0 if it has none, and of what was over it.
        var image: UInt64 = 0
        var overlayID: UInt64?
        /// The claim to the buffer that was filled last, as long as anything refers to it.
        weak var latest: SharedClaim?
        /// The number of the first lease whose memory is kept; earlier leases belong to connections that have ended.
        var firstLease: UInt64 = 0
    }

    private let state = Locked(State())

    /// Creates a store without memory.
    package init() {}

    /// Releases the memory of leases before a number, except what images still refer to.
    ///
    /// A job that began before may still claim memory for such a lease: that memory is not kept either.
    package func removeAll(before lease: UInt64) {
        let buffers = state.withLock { state in
            let buffers = state.buffers
            state.firstLease = max(state.firstLease, lease)
            for index in buffers.indices where buffers[index].map({ $0.firstLease < lease }) ?? false {
                state.buffers[index] = nil
            }
            (state.geometry, state.latest) = (nil, nil)
            return buffers
        }
        _ = consume buffers
    }

    /// Releases the memory of a buffer that was created for a lease up to a number, except what images still refer to.
    package func remove(_ index: Int, upTo lease: UInt64) {
        let buffer = state.withLock { state -> Buffer? in
            guard let buffer = state.buffers[index], buffer.firstLease <= lease else { return nil }
            return state.buffers[index].take()
        }
        _ = consume buffer
    }

    /// Returns the claim for a lease, with new memory if the buffer has none of this size.
    ///
    /// - Throws: The error of the system.
    package func claim(
        _ lease: SharedPool.Lease,
        isNew: Bool,
        onRelease: @escaping @Sendable (SharedPool.Lease) -> Void
    ) throws(Errno) -> SharedClaim {
        let known = state.withLock { $0.isCurrent(lease) ? $0.buffers[lease.index]?.memory : nil }
        if !isNew, let known, known.byteCount == lease.byteCount {
            return SharedClaim(lease, known, onRelease: onRelease)
        }
        let memory = try SharedMemory(byteCount: lease.byteCount)
        state.withLock { state in
            guard state.isCurrent(lease) else { return }
            state.buffers[lease.index] = Buffer(memory: memory, firstLease: lease.number)
        }
        return SharedClaim(lease, memory, onRelease: onRelease)
    }

    /// Records that the program is given a buffer to draw in, whose content is unknown from now on.
    package func willDraw(in lease: SharedPool.Lease) {
        state.withLock { state in
            if state.isCurrent(lease) { state.buffers[lease.index]?.stale = nil }
        }
    }

    /// Copies an image to the buffer of a claim, and draws what is over it: only the rows that changed since the buffer was
    /// filled, if that is known, and those that are drawn on.
    ///
    /// - Parameters:
    ///   - claim: The claim.
    ///   - image: The image.
    ///   - overlay: What is drawn over it.
    ///   - damage: The rows in which the image may differ from an earlier one. If that was copied last, the others are
    ///     not looked at.
    /// - Returns: The image in the buffer, with the rows in which it differs from the image that was copied before.
    /// - Throws: `invalidSize`, or `byteCountMismatch` if the buffer is too small.
    package func fill(
        _ claim: SharedClaim,
        with image: PixelBuffer,
        under overlay: PixelOverlay? = nil,
        _ damage: RowDamage? = nil
    ) throws(TurboJPEGError) -> BufferedImage {
        let geometry = Geometry(width: image.width, height: image.height, format: image.format)
        let overlayID = overlay?.id
        // Holding the claim keeps the program from drawing in the buffer that is compared with.
        let (latest, stale, damaged) = state.withLock { $0.past(of: claim, geometry, overlay, damage) }
        var target = try claim.image(like: image)
        // What was drawn over rows that stay the same is there already.
        var overlay = overlay
        if let damaged, let stale, let rows = overlay?.rows, !damaged.overlaps(rows), !stale.overlaps(rows) {
            overlay = nil
        }
        if let overlay {
            var rows = RowSet(height: image.height)
            rows.insert(overlay.rows)
            try image.copy(rows, to: &target)
            try overlay.draw(on: &target)
        }
        var changed = damaged
        if let latest, damaged?.isEmpty != true {
            changed = try image.rows(
                differingFrom: latest.image(like: image),
                replacing: overlay?.rows ?? 0..<0,
                by: overlay == nil ? nil : target,
                within: damaged
            )
        }
        var rows = changed
        if let stale { rows?.formUnion(stale) } else { rows = nil }
        if let overlay {
            // They are there already.
            rows = rows ?? RowSet(allOf: image.height)
            for row in overlay.rows { rows?.remove(row) }
        }
        try image.copy(rows, to: &target)
        state.withLock { $0.filled(claim, geometry, changed, damage?.image ?? 0, overlayID) }
        return BufferedImage(
            pixels: target,
            claim: claim,
            origin: .copied,
            changedRows: changed?.range
        )
    }
}

extension SharedBufferStore.State {
    /// Whether memory is kept for a lease.
    fileprivate func isCurrent(_ lease: SharedPool.Lease) -> Bool { lease.number >= firstLease }

    /// Returns the past of a buffer.
    ///
    /// That is the image that was copied last, if it still exists, the rows in which the buffer differs from it, and those
    /// in which the next image may; nil if they are not known.
    fileprivate func past(
        of claim: SharedClaim,
        _ geometry: SharedBufferStore.Geometry,
        _ overlay: PixelOverlay?,
        _ damage: RowDamage?
    ) -> (latest: SharedClaim?, stale: RowSet?, damaged: RowSet?) {
        guard self.geometry == geometry, isCurrent(claim.lease) else { return (nil, nil, nil) }
        return (
            latest, buffers[claim.lease.index]?.stale, overlay?.id == overlayID ? damage?.rows(since: image) : nil
        )
    }

    /// Records the latest image, which differs from the one before it in these rows; nil if in any.
    fileprivate mutating func filled(
        _ claim: SharedClaim,
        _ geometry: SharedBufferStore.Geometry,
        _ changed: RowSet?,
        _ image: UInt64,
        _ overlayID: UInt64?
    ) {
        guard isCurrent(claim.lease) else { return }
        for index in buffers.indices {
            if let changed { buffers[index]?.stale?.formUnion(changed) } else { buffers[index]?.stale = nil }
        }
        buffers[claim.lease.index]?.stale = RowSet(height: geometry.height)
        (self.geometry, latest, self.image, self.overlayID) = (geometry, claim, image, overlayID)
    }
}

extension SharedClaim {
    /// Returns the image in the buffer, of the size and format of another.
    fileprivate func image(like other: PixelBuffer) throws(TurboJPEGError) -> PixelBuffer {
        try unsafe PixelBuffer(
            in: memory.bytes,
            lentBy: self,
            width: other.width,
            height: other.height,
            format: other.format
        )
    }
}
