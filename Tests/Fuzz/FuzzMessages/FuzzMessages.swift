// Bytes that a sender writes: whatever they are and however they are cut, the same messages come out, or the same error.

import FrameWire
import FuzzSupport

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMessages(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    for event in StreamOutcome<Messages>.checkedEvents(of: unsafe Span(_unsafeStart: start, count: count)) {
        // A message that was understood is written as it was read.
        guard case .message(let message) = event, let bytes = encoded(message) else { continue }
        var decoder = FrameMessageDecoder()
        let span = bytes.span
        guard let step = try? decoder.decode(span), step.event == event else {
            fatalError("\(message) does not survive being written and read")
        }
    }
    return 0
}

private struct Messages: FuzzedDecoder {
    private var decoder = FrameMessageDecoder()

    mutating func next(
        _ bytes: Span<UInt8>
    ) throws(WireError) -> (consumed: Int, event: FrameMessageDecoder.Event?) {
        let step = try decoder.decode(bytes)
        let isPart = step.event == .incomplete || step.event == .body(isLast: false)
        return (step.consumed, isPart ? nil : step.event)
    }

    mutating func finish() throws(WireError) { try decoder.finish() }
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
