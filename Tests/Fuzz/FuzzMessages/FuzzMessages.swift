// Bytes that a sender writes: whatever they are and however they are cut, the same messages come out, or the same error.

import FrameWire
import FuzzSupport

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMessages(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = unsafe Span(_unsafeStart: start, count: count)
    let whole = Outcome(of: bytes, cuts: Cuts())
    for seed in UInt64(1)...2 {
        let cuts = Cuts(seed: UInt64(count) &* 0x9E37_79B9 ^ seed, meanDistance: seed == 1 ? 200 : 9)
        guard Outcome(of: bytes, cuts: cuts) == whole else { fatalError("the cuts of seed \(seed) make a difference") }
    }
    return 0
}

/// What came out of a decoder.
private struct Outcome: Equatable {
    private struct Entry: Equatable {
        let event: FrameMessageDecoder.Event
        let end: Int
    }

    private var entries: [Entry] = []
    private var error: WireError?
    private var offset: UInt64 = 0

    init(of bytes: Span<UInt8>, cuts: Cuts) {
        var decoder = FrameMessageDecoder()
        var cuts = cuts
        do throws(WireError) {
            var start = 0
            while start < bytes.count {
                let end = cuts.end(behind: start, of: bytes.count)
                while start < end {
                    let step = try decoder.decode(bytes.extracting(start..<end))
                    start += step.consumed
                    if case .message(let message) = step.event { check(message) }
                    if step.event != .incomplete, step.event != .body(isLast: false) {
                        entries.append(Entry(event: step.event, end: start))
                    }
                }
            }
            try decoder.finish()
        } catch {
            self.error = error
        }
        offset = decoder.offset
    }

    /// A message that was understood is written as it was read.
    private func check(_ message: FrameMessageDecoder.Message) {
        if case .sharedFrame(let header) = message { checkFit(of: header) }
        guard let bytes = encoded(message) else { return }
        let span = bytes.span
        var decoder = FrameMessageDecoder()
        guard let step = try? decoder.decode(span), step.event == .message(message) else {
            fatalError("\(message) does not survive being written and read")
        }
    }

    /// A frame fits into a buffer exactly if that reaches to the last sample of each plane, and no row into the next.
    private func checkFit(of header: SharedFrameHeader) {
        let samples: [(bytes: Int, subsampling: Int)] =
            switch header.format {
            case .bgra, .rgba, .argb, .abgr, .bgrx: [(4, 1)]
            case .rgb, .bgr: [(3, 1)]
            case .gray: [(1, 1)]
            case .i420: [(1, 1), (1, 2), (1, 2)]
            case .nv12: [(1, 1), (2, 2)]
            }
        // No product overflows: a decoder accepts offsets and strides up to 2^30, and sides up to 16,384.
        var (end, isSound) = (0, true)
        for (plane, sample) in zip(header.planes, samples) {
            let columns = (header.info.bufferSize.width + sample.subsampling - 1) / sample.subsampling
            let rows = (header.info.bufferSize.height + sample.subsampling - 1) / sample.subsampling
            end = max(end, plane.offset + (rows - 1) * plane.bytesPerRow + columns * sample.bytes)
            isSound = isSound && plane.bytesPerRow >= columns * sample.bytes
        }
        for (byteCount, fits) in [(end - 1, false), (end, isSound), (.max, isSound)] {
            guard header.fits(inBufferOf: byteCount) == fits else { fatalError("\(header) in \(byteCount) bytes") }
        }
    }

    private func encoded(_ message: FrameMessageDecoder.Message) -> [UInt8]? {
        switch message {
        case .frame(let header): header.encoded()
        case .audio(let header): header.encoded()
        case .status(let status): status.encoded()
        case .info(let info): info.encoded()
        case .sharedBuffer(let header): header.encoded()
        case .sharedFrame(let header): header.encoded()
        case .unknown: nil
        }
    }
}
