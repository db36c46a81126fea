internal import Locking

/// Decompresses JPEGs that follow one another, and again only what has changed.
///
/// Where restart markers cut a JPEG into strips, those with the same bytes as in the JPEG before are not decoded again, and the
/// others on several cores. The pixels and the errors are those of a `JPEGDecoder`, which sees to all other JPEGs.
///
///     let strips = StripDecoder()
///     let (picture, changes) = try strips.decode(jpeg.span, as: .bgra)
///
/// It keeps the latest JPEG and its picture, a second picture if the one before is still held when the next one comes, as a
/// picture that was handed out does not change, and at most as much memory again as one picture takes for what is decoded
/// aside. All of it goes with ``forget()`` and when the size or format changes. One decoder is for the JPEGs of one sender; where several threads decode at once, one of
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
            let strips = frame?.isVerified.count ?? 0
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
        let plan = StripPlan(
            for: frame.wantedRuns(),
            of: layout,
            threads: threads,
            isHasty: 2 * changed.count { $0 } > layout.count
        )
        try run(plan, intervals, of: jpeg, into: canvas, scratch: frame.scratch)
        frame.settle(unverified: plan.unverified)
        standing = frame

        let reach = structure.maximumVertical > 1 && !decoder.fastUpsampling ? 1 : 0
        var rows: [Range<Int>] = []
        for index in changed.indices where changed[index] {
            let strip = layout.rows(of: index)
            rows.appendJoining(max(0, strip.lowerBound - reach)..<min(layout.height, strip.upperBound + reach))
        }
        let coded = plan.jobs.reduce(0) { $0 + $1.strips.count }
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
                unsafe run(&job, intervals, of: bytes.span, into: canvas, scratch: scratch)
            }
        }
        for job in jobs {
            if let failure = job.failure { throw failure }
        }
        for job in jobs {
            guard let seam = job.scratch else { continue }
            try copy(job, seam, intervals, to: canvas)
        }
    }

    private func run(
        _ job: inout StripJob,
        _ intervals: RestartIntervals,
        of jpeg: Span<UInt8>,
        into canvas: PixelBuffer,
        scratch: PixelBufferPool
    ) {
        do throws(TurboJPEGError) {
            let strips = intervals.wrap(job.strips, of: jpeg, isExactEnd: job.isExactEnd)
            guard job.place == .canvas else {
                let picture = try decodeAside(strips, job, intervals, like: canvas, scratch: scratch)
                if job.place == .seam {
                    job.scratch = picture
                } else {
                    try copy(job, picture, intervals, to: canvas)
                }
                return
            }
            try decode(strips, into: canvas.rows(job.rows))
        } catch {
            job.failure = error
        }
    }

    /// Decodes strips to memory that is used again.
    private func decodeAside(
        _ jpeg: [UInt8],
        _ job: StripJob,
        _ intervals: RestartIntervals,
        like canvas: PixelBuffer,
        scratch: PixelBufferPool
    ) throws(TurboJPEGError) -> PixelBuffer {
        // Few heights come back more often than many.
        var capacity = 2
        while capacity < job.strips.count { capacity *= 2 }
        let height = min(capacity * intervals.layout.stripHeight, (canvas.height + 1) / 2 * 2)
        let memory = try scratch.buffer(width: canvas.width, height: height, format: canvas.format)
        let rows = intervals.layout.rows(of: job.strips).count
        let picture = try memory.cropped(toWidth: canvas.width, height: rows)
        try decode(jpeg, into: picture)
        return picture
    }

    /// Decodes to memory that this thread alone uses.
    private func decode(_ jpeg: [UInt8], into picture: PixelBuffer) throws(TurboJPEGError) {
        let handle = try CodecHandle(for: .decompress)
        let bytes = jpeg.span
        let source = try DecodingSource(
            bytes,
            scale: .full,
            limits: decoder.limits,
            toleratesDamage: false,
            handle: handle
        )
        guard source.width == picture.width, source.height == picture.height else {
            throw TurboJPEGError(.malformed, "The strips have another size than the picture.")
        }
        try unsafe decoder.decode(bytes, source, to: UnsafePlanes(picture), mayWritePadding: true, with: handle)
    }

    /// Copies the wanted rows of strips to the canvas.
    private func copy(
        _ job: StripJob,
        _ strips: PixelBuffer,
        _ intervals: RestartIntervals,
        to canvas: PixelBuffer
    ) throws(TurboJPEGError) {
        guard !job.rows.isEmpty else { return }
        let first = intervals.layout.rows(of: job.strips).lowerBound
        unsafe UnsafePlanes(canvas).copyRows(job.rows, from: UnsafePlanes(strips), at: first)
    }
}

extension UnsafePlanes {
    /// Copies some rows of pixels of a picture that begins with a row of this one, an even one.
    fileprivate func copyRows(_ rows: Range<Int>, from part: UnsafePlanes, at first: Int) {
        for plane in 0..<(unsafe format.planeCount) {
            let (source, target) = unsafe (part[plane], self[plane])
            let factor = plane == 0 ? 1 : 2
            for row in (rows.lowerBound / factor)..<((rows.upperBound + factor - 1) / factor) {
                unsafe target.row(row).update(
                    from: source.row(row - first / factor),
                    count: target.shape.visibleBytesPerRow
                )
            }
        }
    }
}
