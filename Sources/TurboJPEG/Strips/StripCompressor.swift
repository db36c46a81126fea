internal import CJPEGStrips
internal import Locking
internal import SystemMemory

/// Compresses strips of an image on one thread, from top to bottom, through one open JPEG.
///
/// Besides compression, most of the cost of a library call is setting up a JPEG; here that happens once for many
/// strips, and most of it once for many images.
@safe struct StripCompressor: ~Copyable {
    private let options: StripOptions
    private let layout: StripLayout
    private let capacity: Int
    private let shelf: StripCodecShelf
    private var codec: StripCodec?

    /// Creates a compressor that begins a JPEG when it gets a strip; a strip and a header take at most `capacity` bytes.
    ///
    /// The shelf is for these options, this layout and this capacity alone.
    init(_ options: StripOptions, _ layout: StripLayout, capacity: Int, shelf: StripCodecShelf) {
        (self.options, self.layout, self.capacity, self.shelf) = (options, layout, capacity, shelf)
        unsafe codec = nil
    }

    deinit {
        if let codec = unsafe codec { unsafe shelf.giveBack(codec) }
    }

    /// Whether a strip was compressed whose last bytes are still to come.
    private(set) var isOpen = false

    /// Returns whether a strip with this many rows can follow others: one that ends within an MCU needs its own JPEG.
    private func canFollow(rows: Int) -> Bool { rows.isMultiple(of: options.subsampling.mcuHeight) }

    /// Compresses the rows of a strip; provides the last bytes of the previous strip, then all but the last bytes of
    /// this one.
    @unsafe mutating func compress(
        _ part: UnsafePlanes,
        takeTail: (UnsafeBufferPointer<UInt8>) -> Void,
        takeBody: (UnsafeBufferPointer<UInt8>) -> Void
    ) throws(TurboJPEGError) {
        let height = unsafe part.height
        let isPartial = !canFollow(rows: height)
        if isPartial { try unsafe finish(takeTail) }
        if !isOpen { try begin(height: isPartial ? height : 0) }
        guard let (encoder, message) = unsafe codec?.forCalls else { return }
        var (tail, body) = unsafe (jpeg_strips_bytes(), jpeg_strips_bytes())
        var pixels = unsafe part.stripPixels
        let status = unsafe jpeg_strips_encode(encoder, &pixels, UInt32(height), &tail, &body, message.bytes)
        guard status == 0 else { throw options.error(message) }
        if isOpen { unsafe takeTail(UnsafeBufferPointer(start: tail.start, count: tail.count)) }
        unsafe takeBody(UnsafeBufferPointer(start: body.start, count: body.count))
        isOpen = true
    }

    /// Ends the JPEG, which completes the last strip.
    mutating func finish(_ takeTail: (UnsafeBufferPointer<UInt8>) -> Void) throws(TurboJPEGError) {
        guard isOpen, let (encoder, message) = unsafe codec?.forCalls else { return }
        var tail = unsafe jpeg_strips_bytes()
        let status = unsafe jpeg_strips_encoder_finish(encoder, &tail, message.bytes)
        guard status == 0 else { throw options.error(message) }
        unsafe takeTail(UnsafeBufferPointer(start: tail.start, count: tail.count))
        isOpen = false
    }

    /// Begins a JPEG.
    private mutating func begin(height: Int) throws(TurboJPEGError) {
        if unsafe codec == nil { unsafe codec = shelf.take() }
        if unsafe codec == nil { unsafe codec = try StripCodec(options, layout, capacity: capacity) }
        guard let (encoder, message) = unsafe codec?.forCalls else { return }
        let status = unsafe jpeg_strips_encoder_start(encoder, UInt32(height), message.bytes)
        guard status == 0 else { throw options.error(message) }
    }
}

/// An encoder of the library with its options, and the memory that it writes to.
@unsafe struct StripCodec {
    private let encoder: OpaquePointer
    /// For the library's words about a failure.
    private let message = StripMessage()
    private let memory: UnsafeMutableRawPointer
    private let capacity: Int

    init(_ options: StripOptions, _ layout: StripLayout, capacity: Int) throws(TurboJPEGError) {
        guard let memory = unsafe SystemMemory.allocate(byteCount: capacity, alignment: PixelLayout.alignment) else {
            throw TurboJPEGError(.allocationFailed, "not enough memory for a JPEG of up to \(capacity) bytes")
        }
        var values = options.options(of: layout)
        let bytes = unsafe memory.assumingMemoryBound(to: UInt8.self)
        let encoder = unsafe jpeg_strips_encoder_open(&values, bytes, capacity, message.bytes)
        guard let encoder = unsafe encoder else {
            unsafe SystemMemory.release(memory, byteCount: capacity)
            throw unsafe options.error(message)
        }
        unsafe (self.encoder, self.memory, self.capacity) = unsafe (encoder, memory, capacity)
    }

    /// What the library's functions take.
    var forCalls: (encoder: OpaquePointer, message: StripMessage) { unsafe (encoder, message) }

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
