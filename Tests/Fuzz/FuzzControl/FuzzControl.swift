// Bytes that a receiver writes to its sender: whatever they are and however they are cut, the same requests come out, or
// the same error.

import FrameWire
import FuzzSupport

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzControl(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
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
    private struct Request: Equatable {
        let event: ControlDecoder.Event
        let end: Int
    }

    private var requests: [Request] = []
    private var error: WireError?
    private var offset: UInt64 = 0

    init(of bytes: Span<UInt8>, cuts: Cuts) {
        var decoder = ControlDecoder()
        var cuts = cuts
        do throws(WireError) {
            var start = 0
            while start < bytes.count {
                let end = cuts.end(behind: start, of: bytes.count)
                while start < end {
                    let step = try decoder.decode(bytes.extracting(start..<end))
                    start += step.consumed
                    switch step.event {
                    case .incomplete, .body(isLast: false): break
                    default: requests.append(Request(event: step.event, end: start))
                    }
                    switch step.event {
                    case .request(let request): Self.check(step.event, isReadFrom: request.encoded())
                    case .release(let release): Self.check(step.event, isReadFrom: release.encoded())
                    case .incomplete, .discarded, .skipped, .body: break
                    }
                }
            }
            try decoder.finish()
        } catch {
            self.error = error
        }
        offset = decoder.offset
    }

    /// A request that was understood is written as it was read.
    private static func check(_ event: ControlDecoder.Event, isReadFrom bytes: [UInt8]) {
        var decoder = ControlDecoder()
        let span = bytes.span
        guard let step = try? decoder.decode(span), step.event == event else {
            fatalError("\(event) does not survive being written and read")
        }
    }
}
