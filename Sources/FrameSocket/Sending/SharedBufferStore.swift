internal import FrameTransport
internal import FrameWire
internal import Locking
internal import TurboJPEG

/// The memory of the shared buffers, and what was last copied into each.
///
/// Which buffer is filled with what is decided by ``SharedPool``.
final class SharedBufferStore: Sendable {
    private struct Shape: Sendable, Hashable {
        let width: Int
        let height: Int
        let format: PixelFormat
    }

    private struct Buffer: Sendable {
        let memory: SharedMemory
        /// The shape of the image that was last copied into it; nil if its content is unknown.
        var shape: Shape?
        /// The rows in which the latest image may differ from its content.
        var stale = 0..<0
    }

    private struct State: Sendable {
        var buffers = [Buffer?](repeating: nil, count: SharedBufferHead.indices.count)
    }

    private let state = Locked(State())

    /// Releases the memory, except what images still refer to.
    func removeAll() {
        let buffers = state.withLock { state in
            defer { state = State() }
            return state.buffers
        }
        _ = consume buffers
    }

    /// Returns the claim for a lease, with new memory if the buffer has none of this size.
    ///
    /// - Throws: The error of the system.
    func claim(
        _ lease: SharedPool.Lease,
        isNew: Bool,
        onRelease: @escaping @Sendable (SharedPool.Lease) -> Void
    ) throws(Errno) -> SharedClaim {
        let known = state.withLock { $0.buffers[lease.index]?.memory }
        if !isNew, let known, known.byteCount == lease.byteCount {
            return SharedClaim(lease, known, onRelease: onRelease)
        }
        let memory = try SharedMemory(byteCount: lease.byteCount)
        state.withLock { $0.buffers[lease.index] = Buffer(memory: memory) }
        return SharedClaim(lease, memory, onRelease: onRelease)
    }

    /// Handles that the program is given a buffer to draw in, so that its content is unknown from now on.
    func willDraw(in lease: SharedPool.Lease) {
        state.withLock { $0.buffers[lease.index]?.shape = nil }
    }

    /// Copies an image into the buffer of a claim: only the rows that differ, if it has the shape of the last one.
    ///
    /// - Returns: The image in the buffer, and the rows that may differ from the image filled before.
    /// - Throws: `invalidSize`, or `byteCountMismatch` if the buffer is too small.
    func fill(_ claim: SharedClaim, with image: PixelBuffer) throws(TurboJPEGError) -> SharedPicture {
        let shape = Shape(width: image.width, height: image.height, format: image.format)
        let index = claim.lease.index
        let (isKnown, stale) = state.withLock { state in
            let buffer = state.buffers[index]
            return (buffer?.shape == shape, buffer?.stale ?? 0..<0)
        }
        var target = try unsafe PixelBuffer(
            in: claim.memory.bytes,
            lentBy: claim,
            width: image.width,
            height: image.height,
            format: image.format
        )
        let copied = try image.copyChangedRows(to: &target)
        let changed = isKnown ? copied.joined(with: stale) : 0..<image.height
        state.withLock { state in
            for other in state.buffers.indices {
                guard let stale = state.buffers[other]?.stale else { continue }
                state.buffers[other]?.stale = other == index ? 0..<0 : stale.joined(with: changed)
            }
            state.buffers[index]?.shape = shape
        }
        return SharedPicture(pixels: target, claim: claim, origin: .copied, changedRows: changed)
    }
}

extension Range<Int> {
    /// Returns the smallest range that contains both; an empty one adds nothing.
    func joined(with other: Range<Int>) -> Range<Int> {
        if isEmpty { return other }
        return other.isEmpty ? self : union(other)
    }
}
