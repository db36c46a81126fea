internal import CJPEGStrips
internal import Locking
internal import SystemMemory

/// An encoder of the library with its options, and the memory that it writes to.
@unsafe struct StripCodec {
    let encoder: OpaquePointer
    private let memory: UnsafeMutableRawPointer
    private let capacity: Int

    init(_ options: StripOptions, _ layout: StripLayout, capacity: Int) throws(TurboJPEGError) {
        guard let memory = unsafe SystemMemory.allocate(byteCount: capacity, alignment: PixelLayout.alignment) else {
            throw TurboJPEGError(.allocationFailed, "not enough memory for a JPEG of up to \(capacity) bytes")
        }
        var message = StripMessage()
        var values = options.options(of: layout)
        let encoder = unsafe message.withBytes { message in
            unsafe jpeg_strips_encoder_open(&values, memory.assumingMemoryBound(to: UInt8.self), capacity, message)
        }
        guard let encoder = unsafe encoder else {
            unsafe SystemMemory.release(memory, byteCount: capacity)
            throw options.error(message)
        }
        unsafe (self.encoder, self.memory, self.capacity) = unsafe (encoder, memory, capacity)
    }

    func free() {
        unsafe jpeg_strips_encoder_close(encoder)
        unsafe SystemMemory.release(memory, byteCount: capacity)
    }
}

/// Holds encoders between two images, all for the same options.
@safe final class StripCodecShelf: @unchecked Sendable {
    @safe private struct State {
        var idle: [StripCodec] = unsafe []
    }

    private let state = Locked(State())
    private let maximumIdle: Int

    init(maximumIdle: Int) {
        self.maximumIdle = maximumIdle
    }

    deinit {
        let codecs = unsafe state.withLock { unsafe $0.idle }
        unsafe codecs.forEach { unsafe $0.free() }
    }

    /// Returns the encoder that came back last, whose memory is still in the cache; nil if there is none.
    @unsafe func take() -> StripCodec? {
        unsafe state.withLock { unsafe $0.idle.popLast() }
    }

    /// Keeps an encoder for the next image.
    @unsafe func giveBack(_ codec: StripCodec) {
        let isKept = state.withLock { state in
            guard unsafe state.idle.count < maximumIdle else { return false }
            unsafe state.idle.append(codec)
            return true
        }
        if !isKept { unsafe codec.free() }
    }
}
