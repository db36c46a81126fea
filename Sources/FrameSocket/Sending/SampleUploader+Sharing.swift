internal import Dispatch
public import FrameTransport
internal import Locking
public import TurboJPEG

// Shared memory: buffers that are lent to the program to draw in.
extension SampleUploader {
    /// Whether the connected receiver gets frames in shared memory.
    package var isSharing: Bool { machine.withLock { $0.sharing.pool.isOpen } }

    /// Returns an image to draw in, with undefined content: if possible, one that is sent without a copy.
    ///
    /// Draw in it and submit it with ``send(_:orientation:timestamp:damage:)``. If the receiver accepts shared memory, one of
    /// the buffers is free, and the image is sent at its own size, the receiver sees the memory itself. Otherwise it is
    /// an ordinary image, which is copied or encoded. After submitting, release the image: changing it would first copy
    /// it.
    ///
    /// - Parameters:
    ///   - width: The width, 1 to 65,500 pixels.
    ///   - height: The height, 1 to 65,500 pixels.
    ///   - format: The arrangement of the bytes.
    /// - Returns: The image.
    /// - Throws: `invalidSize`, `allocationFailed`.
    public func makeBuffer(width: Int, height: Int, format: PixelFormat) throws(TurboJPEGError) -> PixelBuffer {
        let byteCount = try PixelBuffer.byteCount(width: width, height: height, format: format)
        let size = BufferSize(width: width, height: height)
        guard let (lease, needsNewMemory) = handle({ $0.lend(size, format, byteCount) }) else {
            return try drawn.buffer(width: width, height: height, format: format)
        }
        guard let claim = try? shared.claim(lease, isNew: needsNewMemory, onRelease: leaseEnded) else {
            handle { $0.lendingFailed(lease, at: MonotonicClock.now()) }
            return try drawn.buffer(width: width, height: height, format: format)
        }
        shared.willDraw(in: lease)
        return try unsafe PixelBuffer(
            in: claim.memory.bytes,
            lentBy: claim,
            width: width,
            height: height,
            format: format
        )
    }

    /// Waits until ``makeBuffer(width:height:format:)`` can return memory that is sent without a copy.
    ///
    /// Use it before drawing each frame if the source can wait for its receiver:
    ///
    /// ```swift
    /// while let scene = await scenes.next() {
    ///     try await uploader.waitForBuffer()
    ///     var image = try uploader.makeBuffer(width: 1920, height: 1080, format: .bgra)
    ///     try scene.draw(in: &image)
    ///     uploader.send(consume image)
    /// }
    /// ```
    ///
    /// The call waits for a buffer that the receiver has, and for a new receiver to state whether it accepts shared
    /// memory. It returns at once if nothing is shared, or if this program holds every buffer. If the receiver releases
    /// no buffer for two seconds, it returns even though none is free. After such a wait the next one is limited to
    /// 20 ms, and each wait that ends with a free buffer doubles the limit, up to two seconds.
    ///
    /// - Throws: `cancelled` if the calling task is cancelled first.
    public func waitForBuffer() async throws(TransportError) {
        guard machine.withLock({ $0.expectsBuffer(at: MonotonicClock.now()) }) else { return }
        try await wait("waiting for a shared buffer was cancelled", isolation: #isolation) { machine, id in
            machine.awaitBuffer(id, at: MonotonicClock.now())
        }.get()
    }

    /// The call to make when nothing refers to an image in a shared buffer any longer.
    ///
    /// The last reference may be released anywhere, even within the machine's lock or another one, so whatever may have
    /// to wait, or has effects, is done on the queue.
    var leaseEnded: @Sendable (SharedPool.Lease) -> Void {
        { [weak self, queue] lease in
            let effects = self?.machine.withLockIfAvailable { machine in
                machine.leaseEnded(lease, at: MonotonicClock.now())
                return machine.takeEffects()
            }
            if effects?.isEmpty ?? false { return }
            queue.async { [weak self] in
                guard let self else { return }
                if let effects { perform(effects) } else { handle { $0.leaseEnded(lease, at: MonotonicClock.now()) } }
            }
        }
    }
}
