internal import CJPEGStrips

/// Compresses strips of an image on one thread, from top to bottom, through one open JPEG.
///
/// Besides compression, most of the cost of a library call is setting up a JPEG; here that happens once for many
/// strips.
@safe struct StripCompressor: ~Copyable {
    private let options: StripOptions
    private let layout: StripLayout
    private let capacity: Int
    private let shelf: BlockShelf
    private var memory: MemoryBlock?
    private var encoder: OpaquePointer?

    /// Creates a compressor that opens a JPEG when it gets a strip; a strip and a header take at most `capacity` bytes.
    init(_ options: StripOptions, _ layout: StripLayout, capacity: Int, shelf: BlockShelf) {
        self.options = options
        self.layout = layout
        self.capacity = capacity
        self.shelf = shelf
        unsafe memory = nil
        unsafe encoder = nil
    }

    deinit {
        if let encoder = unsafe encoder { unsafe jpeg_strips_encoder_close(encoder) }
        if let memory = unsafe memory { unsafe shelf.giveBack(memory) }
    }

    /// Whether a strip was compressed whose last bytes are still to come.
    private(set) var isOpen = false

    /// Returns whether a strip with this many rows can follow others: one that ends within an MCU needs its own JPEG.
    private func canFollow(rows: Int) -> Bool { rows.isMultiple(of: options.subsampling.mcuHeight) }

    /// Compresses the rows of a strip; provides the last bytes of the previous strip, then all but the last bytes of
    /// this one.
    mutating func compress(
        _ part: PixelBuffer,
        takeTail: (UnsafeBufferPointer<UInt8>) -> Void,
        takeBody: (UnsafeBufferPointer<UInt8>) -> Void
    ) throws(TurboJPEGError) {
        let isPartial = !canFollow(rows: part.height)
        if isPartial { try unsafe finish(takeTail) }
        let encoder = try unsafe open(height: isPartial ? part.height : 0)
        var (tail, body) = unsafe (jpeg_strips_bytes(), jpeg_strips_bytes())
        var message = StripMessage()
        let status = unsafe part.withUnsafePlanes { planes in
            var pixels = unsafe planes.stripPixels(from: 0)
            return unsafe message.withBytes { message in
                unsafe jpeg_strips_encode(encoder, &pixels, UInt32(part.height), &tail, &body, message)
            }
        }
        guard status == 0 else { throw options.error(message) }
        if isOpen { unsafe takeTail(UnsafeBufferPointer(start: tail.start, count: tail.count)) }
        unsafe takeBody(UnsafeBufferPointer(start: body.start, count: body.count))
        isOpen = true
    }

    /// Ends the JPEG, which completes the last strip.
    mutating func finish(_ takeTail: (UnsafeBufferPointer<UInt8>) -> Void) throws(TurboJPEGError) {
        guard isOpen, let encoder = unsafe encoder else { return }
        var tail = unsafe jpeg_strips_bytes()
        var message = StripMessage()
        let status = unsafe message.withBytes { unsafe jpeg_strips_encoder_finish(encoder, &tail, $0) }
        guard status == 0 else { throw options.error(message) }
        unsafe takeTail(UnsafeBufferPointer(start: tail.start, count: tail.count))
        unsafe jpeg_strips_encoder_close(encoder)
        unsafe self.encoder = nil
        isOpen = false
    }

    /// Returns the open JPEG, or a new one.
    private mutating func open(height: Int) throws(TurboJPEGError) -> OpaquePointer {
        if let encoder = unsafe encoder { return unsafe encoder }
        guard let memory = unsafe memory ?? shelf.take(byteCount: capacity) else {
            throw TurboJPEGError(.allocationFailed, "not enough memory for a JPEG of up to \(capacity) bytes")
        }
        unsafe self.memory = unsafe memory
        var options = options.options(of: layout)
        var message = StripMessage()
        let opened = unsafe message.withBytes { message in
            unsafe jpeg_strips_encoder_open(
                &options,
                UInt32(height),
                memory.base.assumingMemoryBound(to: UInt8.self),
                capacity,
                message
            )
        }
        guard let opened = unsafe opened else { throw self.options.error(message) }
        unsafe encoder = unsafe opened
        return unsafe opened
    }
}
