internal import Locking

/// Decompresses a sequence of JPEGs, and only the parts that have changed.
///
/// If restart markers divide a JPEG into strips, those with the same bytes as in the previous JPEG are not decoded
/// again, and the others are decoded on several cores. The pixels and the errors are those of a `JPEGDecoder`, which
/// decodes all other JPEGs.
///
/// ```swift
/// let strips = StripDecoder()
/// let (image, changes) = try strips.decode(jpeg.span, as: .bgra)
/// ```
///
/// The decoder keeps the latest JPEG and its image. An image that was returned does not change, so the decoder keeps a
/// second image if the previous one is still in use when the next JPEG arrives. If a JPEG that is not `4:2:0` is
/// decoded to planes, it also keeps at most 4 bytes per pixel for the chroma. ``forget()`` releases all of it, and so
/// does a change of size or format.
///
/// Use one decoder for the JPEGs of one sender. If several threads decode at once, only one of them decodes in strips.
package final class StripDecoder: Sendable {
    /// The decoder for JPEGs without strips, with the options for all of them.
    package let decoder: JPEGDecoder

    private let threads: Int
    private let state = Locked(State())

    /// Holds the latest frame until the next one arrives; the frame is absent while the next one is decoded.
    private struct State {
        var frame: RetainedFrame?
        var isInUse = false
        /// Whether a JPEG was decoded as a whole meanwhile: the next one follows that one, and not the frame.
        var wasPassed = false
        /// Whether to discard the frame when it comes back.
        var isForgotten = false
    }

    /// Creates a decoder that has not seen a JPEG.
    ///
    /// - Parameters:
    ///   - decoder: The decoder that provides the options, the limits and the memory.
    ///   - maximumThreads: The maximum number of threads for an image, including the caller's; nil, the default, allows
    ///     one per core.
    package init(decoder: JPEGDecoder = JPEGDecoder(), maximumThreads: Int? = nil) {
        self.decoder = decoder
        threads = max(1, maximumThreads ?? Cores.count)
    }

    /// Decodes to an image in memory of the decoder's pool.
    ///
    /// - Parameters:
    ///   - jpeg: The JPEG; zero bytes after its end are ignored.
    ///   - format: The arrangement of the bytes.
    ///   - check: Called with the JPEG's width and height before anything is decoded.
    /// - Returns: The image, and the rows that may differ from those of the previous image: all of them if that one had
    ///   another size or format, could not be decoded, or was not divided into strips.
    /// - Throws: The errors of `JPEGDecoder.decode(_:as:scale:)`, for the same JPEGs, and those of `check`.
    package func decode(
        _ jpeg: Span<UInt8>,
        as format: PixelFormat,
        checking check: (Int, Int) throws(TurboJPEGError) -> Void = { _, _ in }
    ) throws(TurboJPEGError) -> (image: PixelBuffer, changes: StripChanges) {
        // Nothing else may hold the frame from here on, or its canvases would appear to be in use.
        var frame: RetainedFrame?
        var wasPassed = false
        let isFree = state.withLock { state in
            guard !state.isInUse else {
                state.wasPassed = true
                return false
            }
            state.isInUse = true
            swap(&wasPassed, &state.wasPassed)
            swap(&frame, &state.frame)
            return true
        }
        // After any error, the next JPEG is decoded as a whole.
        defer { if isFree { putBack(&frame) } }
        if frame?.format != format { frame = nil }
        var retained = frame.take()
        if !wasPassed, let known = retained, known.isSame(jpeg), let image = known.image {
            let (structure, strips) = (known.intervals.structure, known.intervals.layout.count)
            try check(structure.width, structure.height)
            frame = retained
            return (image, StripChanges(rows: [], stripCount: strips, codedCount: 0))
        }
        let structure = try decoder.structure(of: jpeg)
        try check(structure.width, structure.height)
        if isFree {
            do throws(TurboJPEGError) {
                let result = try structure.repair.apply(to: jpeg) { jpeg throws(TurboJPEGError) in
                    try decodeStrips(structure, of: jpeg, as: format, &retained)
                }
                if let result {
                    frame = retained.take()
                    return wasPassed ? (result.image, result.changes.ofAllRows(result.image.height)) : result
                }
            } catch {
                // Decoding the whole JPEG reports the error.
            }
        }
        retained = nil
        let image = try decoder.decode(jpeg, structure, as: format)
        return (image, StripChanges(rows: [0..<image.height], stripCount: 1, codedCount: 1))
    }

    /// Ends a call, and keeps a frame for the next one.
    private func putBack(_ frame: inout RetainedFrame?) {
        state.withLock { state in
            if state.isForgotten { frame = nil }
            (state.isInUse, state.isForgotten) = (false, false)
            swap(&frame, &state.frame)
        }
    }

    /// Releases everything that was kept, and its memory; a frame being decoded is released when that is done.
    package func forget() {
        // Released outside the lock.
        _ = state.withLock { state in
            state.isForgotten = state.isInUse
            return state.frame.take()
        }
    }

    /// Decodes the strips that have changed; returns nil if there are none.
    private func decodeStrips(
        _ structure: JPEGStructure,
        of jpeg: Span<UInt8>,
        as format: PixelFormat,
        _ retained: inout RetainedFrame?
    ) throws(TurboJPEGError) -> (image: PixelBuffer, changes: StripChanges)? {
        guard let intervals = RestartIntervals(structure, of: jpeg) else { return nil }
        let layout = intervals.layout
        let isFirst = retained == nil
        // Another reference to the frame here would make its canvases appear shared.
        var frame = retained.take() ?? RetainedFrame(intervals, of: jpeg, as: format)
        let changed =
            isFirst ? [Bool](repeating: true, count: layout.count) : frame.advance(to: intervals, of: jpeg)
        try frame.takeCanvas(from: decoder.pool)
        guard let canvas = frame.image else { return nil }
        // Planar samples are not upsampled.
        let looksOverEdges = structure.maximumVertical > 1 && !format.isPlanar && format != .gray
        let plan = StripPlan(
            for: frame.wantedRuns(),
            of: intervals,
            threads: threads,
            looksOverEdges: looksOverEdges
        )
        try run(plan, intervals, of: jpeg, into: canvas, scratch: frame.scratch)
        frame.settle()
        retained = frame

        let reach = looksOverEdges ? 1 : 0
        var rows: [Range<Int>] = []
        for index in changed.indices where changed[index] {
            let strip = layout.rows(of: index)
            rows.appendJoining(max(0, strip.lowerBound - reach)..<min(layout.height, strip.upperBound + reach))
        }
        let coded = plan.codedCount(of: layout)
        return (canvas, StripChanges(rows: rows, stripCount: layout.count, codedCount: coded))
    }

    /// Decodes what a plan specifies into a canvas that nothing else uses.
    private func run(
        _ plan: StripPlan,
        _ intervals: RestartIntervals,
        of jpeg: Span<UInt8>,
        into canvas: PixelBuffer,
        scratch: PixelBuffer.Pool
    ) throws(TurboJPEGError) {
        var jobs = plan.jobs
        unsafe jpeg.withUnsafeBufferPointer { bytes in
            // The bytes outlive the threads that read them here.
            nonisolated(unsafe) let bytes = unsafe bytes
            StripWork.forEach(&jobs, threads: plan.threads) { job in
                do throws(TurboJPEGError) {
                    try unsafe job.decode(intervals, of: bytes, into: canvas, scratch: scratch)
                } catch {
                    job.failure = error
                }
            }
        }
        for job in jobs {
            if let failure = job.failure { throw failure }
        }
    }
}

/// The changes found from one image to the next.
package struct StripChanges: Sendable, Hashable {
    /// The rows of pixels that may differ, in ascending order with gaps between them; empty if none differ.
    package let rows: [Range<Int>]
    /// The number of strips that the image was divided into.
    package let stripCount: Int
    /// The number of strips that were encoded or decoded; the others were reused.
    package let codedCount: Int
    /// The number of strips whose pixels were looked at before they were encoded or reused.
    package let hashedCount: Int

    /// Creates a description of the changes.
    package init(rows: [Range<Int>], stripCount: Int, codedCount: Int, hashedCount: Int = 0) {
        self.rows = rows
        self.stripCount = stripCount
        self.codedCount = codedCount
        self.hashedCount = hashedCount
    }

    /// Returns the same counts with all rows, if nothing is known of the previous image.
    func ofAllRows(_ height: Int) -> Self {
        Self(rows: [0..<height], stripCount: stripCount, codedCount: codedCount, hashedCount: hashedCount)
    }
}

extension [Range<Int>] {
    /// Appends a range, and joins it to the last one if they touch.
    package mutating func appendJoining(_ range: Range<Int>) {
        guard let last, last.upperBound >= range.lowerBound else { return append(range) }
        self[count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
    }
}
