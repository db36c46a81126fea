// Bytes that a sender writes: whatever they are and however they are cut, the same messages come out, or the same error.

import FrameWire
import FuzzSupport

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMessages(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = unsafe Span(_unsafeStart: start, count: count)
    let whole = Outcome(of: bytes, cuts: Cuts())
    for seed in UInt64(1)...2 {
        let cuts = Cuts(seed: seed &* 0x9E37_79B9_7F4A_7C15 ^ whole.digest, meanDistance: seed == 1 ? 200 : 9)
        guard Outcome(of: bytes, cuts: cuts) == whole else { fatalError("the cuts of seed \(seed) make a difference") }
    }
    return 0
}

/// What came out of a decoder, as short as it can be told.
private struct Outcome: Equatable {
    /// Stands for each head with the place where it ended, and for the end of each body.
    private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    private var error: WireError?

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
                    note(step.event, endingAt: start)
                }
            }
            try decoder.finish()
        } catch {
            self.error = error
        }
        add(decoder.offset)
    }

    /// Adds an event to the digest, and checks what a message says.
    private mutating func note(_ event: FrameMessageDecoder.Event, endingAt offset: Int) {
        switch event {
        case .incomplete, .body(isLast: false):
            return
        case .body(isLast: true):
            add(1)
        case .message(let message):
            add(message)
            check(message)
        }
        add(offset)
    }

    private mutating func add(_ message: FrameMessageDecoder.Message) {
        switch message {
        case .frame(let header):
            add(
                2,
                header.contentLength,
                header.bufferSize.width,
                header.bufferSize.height,
                Int(header.orientation.rawValue)
            )
            add(header.timestamp ?? 1, header.sequence ?? 1)
        case .audio(let header):
            add(3, header.contentLength, header.sampleRate, header.channels, header.kind == .app ? 0 : 1)
            add(header.timestamp ?? 1, header.sequence ?? 1)
        case .status(let status):
            add(4, status.version, status.state.hashValue)
            add(status.pong ?? 1)
        case .info(let info):
            add(8, info.size?.width ?? -1, info.size?.height ?? -1, info.frameRateInMillihertz ?? -1)
            add(info.values.count, info.values.hashValue, info.offersAudio.map { $0 ? 1 : 0 } ?? -1)
        case .sharedBuffer(let header):
            add(6, header.index, header.byteCount)
        case .sharedFrame(let header):
            add(7, header.buffer, header.format.hashValue, header.info.bufferSize.width, header.info.bufferSize.height)
            add(
                Int(header.info.orientation.rawValue),
                header.changedRows?.lowerBound ?? -1,
                header.changedRows?.upperBound ?? -1
            )
            for plane in header.planes { add(plane.offset, plane.bytesPerRow) }
            add(header.info.timestamp ?? 1, header.info.sequence ?? 1)
        case .unknown:
            add(5)
        }
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

    private mutating func add(_ values: Int...) {
        for value in values { add(UInt64(bitPattern: Int64(value))) }
    }

    private mutating func add(_ first: UInt64, _ second: UInt64) {
        add(first)
        add(second)
    }

    private mutating func add(_ value: UInt64) {
        digest = (digest ^ value) &* 0x0000_0100_0000_01B3
        digest ^= digest >> 29
    }
}
