internal import Locking

/// Decompresses JPEGs that follow one another, and again only what has changed.
///
/// Where restart markers cut a JPEG into strips, those with the same bytes as in the JPEG before are not decoded again, and the
/// others on several cores. The pixels and the errors are those of a `JPEGDecoder`, which sees to all other JPEGs.
///
///     let strips = StripDecoder()
///     let (picture, changes) = try strips.decode(jpeg.span, as: .bgra)
///
/// It keeps the latest JPEG and its picture, and a second picture if the one before is still held when the next one comes, as a
/// picture that was handed out does not change. If a JPEG that is not `4:2:0` is decoded to planes, it also keeps at most
/// 4 bytes a pixel for its chroma. All of it goes with ``forget()`` and when the size or format changes. One decoder is for the JPEGs of one sender; where several threads decode at once, one of
/// them does it in strips.
public final class StripDecoder: Sendable {
    /// Decodes what is no strip, and says how.
    public let decoder: JPEGDecoder

    private let threads: Int
    private let place = Locked(Place())

    /// Where the latest frame waits for the next one; it is away while that is decoded.
    private struct Place {
        var frame: StandingFrame?
        var isInUse = false
        /// Whether a JPEG was decoded as a whole meanwhile: the next one follows that, and not the frame.
        var wasPassed = false
        /// Whether the frame is to be given up when it comes back.
        var isForgotten = false
    }

    /// A decoder that has seen no JPEG.
    ///
    /// - Parameters:
    ///   - decoder: How JPEGs are decoded, what they may be, and where memory comes from.
    ///   - maximumThreads: How many threads work on a picture at most, the caller's among them; nil, the default, for one on
    ///     each core.
    public init(decoder: JPEGDecoder = JPEGDecoder(), maximumThreads: Int? = nil) {
        self.decoder = decoder
        threads = max(1, maximumThreads ?? Cores.count)
    }

    /// Decodes to a picture of the decoder's pool.
    ///
    /// - Parameters:
    ///   - jpeg: The JPEG; zero bytes after its end are ignored.
    ///   - format: The arrangement of the bytes.
    /// - Returns: The picture, and which rows may differ from those of the picture before; all of them where that one had
    ///   another size or format, could not be decoded, or was not cut into strips.
    /// - Throws: What `JPEGDecoder.decode(_:as:scale:)` does, for the same JPEGs.
    public func decode(
        _ jpeg: Span<UInt8>,
        as format: PixelFormat
    ) throws(TurboJPEGError) -> (picture: PixelBuffer, changes: StripChanges) {
        // Nothing else may hold the frame from here on: its canvases would look as if somebody used them.
        var frame: StandingFrame?
        var wasPassed = false
        let isFree =
            decoder.stopOnWarning
            && place.withLock { place in
                guard !place.isInUse else {
                    place.wasPassed = true
                    return false
                }
                place.isInUse = true
                swap(&wasPassed, &place.wasPassed)
                swap(&frame, &place.frame)
                return true
            }
        guard isFree else { return try decodeWhole(jpeg, as: format) }
        // Whatever goes wrong, the next JPEG is decoded as a whole.
        defer {
            place.withLock { place in
                if place.isForgotten { frame = nil }
                (place.isInUse, place.isForgotten) = (false, false)
                swap(&frame, &place.frame)
            }
        }
        if frame?.format != format { frame = nil }
        if !wasPassed, frame?.isSame(jpeg) == true, let picture = frame?.picture {
            let strips = frame?.intervals.layout.count ?? 0
            return (picture, StripChanges(rows: [], stripCount: strips, codedCount: 0))
        }
        do throws(TurboJPEGError) {
            if let result = try decodeStrips(jpeg, as: format, &frame) {
                return wasPassed ? (result.picture, result.changes.ofAllRows(result.picture.height)) : result
            }
        } catch {
            // What is wrong with the JPEG is said of it as a whole.
        }
        frame = nil
        return try decodeWhole(jpeg, as: format)
    }

    /// Gives up what was kept, and its memory; what is being decoded is given up when that is done.
    public func forget() {
        // Released behind the lock.
        _ = place.withLock { place in
            place.isForgotten = place.isInUse
            return place.frame.take()
        }
    }

    private func decodeWhole(
        _ jpeg: Span<UInt8>,
        as format: PixelFormat
    ) throws(TurboJPEGError) -> (picture: PixelBuffer, changes: StripChanges) {
        let picture = try decoder.decode(jpeg, as: format)
        return (picture, StripChanges(rows: [0..<picture.height], stripCount: 1, codedCount: 1))
    }

    /// Decodes the strips that have changed; nil where there are none.
    private func decodeStrips(
        _ jpeg: Span<UInt8>,
        as format: PixelFormat,
        _ standing: inout StandingFrame?
    ) throws(TurboJPEGError) -> (picture: PixelBuffer, changes: StripChanges)? {
        let structure = try JPEGGate.structure(of: jpeg, limits: decoder.limits)
        guard let intervals = RestartIntervals(structure, of: jpeg) else { return nil }
        let layout = intervals.layout
        var changed = [Bool](repeating: true, count: layout.count)
        // Whoever holds on to a frame here would make its canvases look shared.
        var frame: StandingFrame
        if var kept = standing.take() {
            changed = kept.advance(to: intervals, of: jpeg)
            frame = kept
        } else {
            frame = StandingFrame(intervals, of: jpeg, as: format)
        }
        try frame.takeCanvas(from: decoder.pool)
        guard let canvas = frame.picture else { return nil }
        // Samples in planes are not upsampled.
        let looksOverEdges =
            structure.maximumVertical > 1 && !decoder.fastUpsampling && !format.isPlanar && format != .gray
        let plan = StripPlan(
            for: frame.wantedRuns(),
            of: intervals,
            threads: threads,
            looksOverEdges: looksOverEdges
        )
        try run(plan, intervals, of: jpeg, into: canvas, scratch: frame.scratch)
        frame.settle()
        standing = frame

        let reach = looksOverEdges ? 1 : 0
        var rows: [Range<Int>] = []
        for index in changed.indices where changed[index] {
            let strip = layout.rows(of: index)
            rows.appendJoining(max(0, strip.lowerBound - reach)..<min(layout.height, strip.upperBound + reach))
        }
        let coded = plan.codedCount(of: layout)
        return (canvas, StripChanges(rows: rows, stripCount: layout.count, codedCount: coded))
    }

    /// Decodes what a plan says to a canvas that nobody else looks at.
    private func run(
        _ plan: StripPlan,
        _ intervals: RestartIntervals,
        of jpeg: Span<UInt8>,
        into canvas: PixelBuffer,
        scratch: PixelBufferPool
    ) throws(TurboJPEGError) {
        var jobs = plan.jobs
        unsafe jpeg.withUnsafeBufferPointer { bytes in
            // The bytes outlive the threads that read them here.
            nonisolated(unsafe) let bytes = unsafe bytes
            StripWork.forEach(&jobs, threads: plan.threads) { job in
                do throws(TurboJPEGError) {
                    try unsafe job.decode(intervals, of: bytes, into: canvas, with: decoder, scratch: scratch)
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
