// Bytes that a receiver writes to its sender: whatever they are and however they are cut, the same requests come out, or
// the same error.

import FrameWire
import FuzzSupport

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzControl(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    for event in StreamOutcome<Requests>.checkedEvents(of: unsafe Span(_unsafeStart: start, count: count)) {
        // A request that was understood is written as it was read.
        guard let bytes = encoded(event) else { continue }
        var decoder = ControlDecoder()
        let span = bytes.span
        guard let step = try? decoder.decode(span), step.event == event else {
            fatalError("\(event) does not survive being written and read")
        }
    }
    return 0
}

private struct Requests: FuzzedDecoder {
    private var decoder = ControlDecoder()

    mutating func next(_ bytes: Span<UInt8>) throws(WireError) -> (consumed: Int, event: ControlDecoder.Event?) {
        let step = try decoder.decode(bytes)
        return (step.consumed, step.event == .incomplete ? nil : step.event)
    }

    /// A sender makes nothing of it.
    mutating func finish() {}
}

private func encoded(_ event: ControlDecoder.Event) -> [UInt8]? {
    switch event {
    case .request(let request): request.encoded()
    case .release(let buffer): ControlRequest.encodedRelease(of: buffer)
    case .incomplete, .discarded, .skipped: nil
    }
}
