internal import FrameTransport
internal import FrameWire

/// Puts frames together from the bytes that a program writes.
///
/// One frame at a time: while a complete one is being sent, no byte is accepted.
struct StreamWriter {
    private enum State {
        case header
        case body(FrameHeader, [UInt8])
        /// The body of a message that is not a frame.
        case skippedBody
        /// A complete frame is being sent.
        case sending
    }

    private var decoder = FrameMessageDecoder()
    private var state = State.header

    /// Takes bytes up to the end of a frame.
    ///
    /// - Returns: How many were taken, and the frame that they complete.
    /// - Throws: `malformedMessage` if they are not a frame.
    mutating func take(_ bytes: Span<UInt8>) throws(TransportError) -> (count: Int, frame: FrameMessage?) {
        var count = 0
        while count < bytes.count {
            if case .sending = state { return (count, nil) }
            let rest = bytes.extracting(count...)
            let step: FrameMessageDecoder.Step
            do {
                step = try decoder.decode(rest)
            } catch {
                throw TransportError(error)
            }
            handle(step.event, rest.extracting(..<step.consumed))
            count += step.consumed
            if let frame = completeFrame() { return (count, frame) }
        }
        return (count, nil)
    }

    /// Accepts the next frame.
    mutating func frameIsGone() {
        if case .sending = state { state = .header }
    }

    private mutating func handle(_ event: FrameMessageDecoder.Event, _ bytes: Span<UInt8>) {
        switch event {
        case .message(.frame(let header)): state = .body(header, [])
        case .message: state = .skippedBody
        case .incomplete: break
        case .body:
            guard case .body(let header, var body) = state else { return }
            // Not copied while it is in use here alone.
            state = .header
            unsafe bytes.withUnsafeBufferPointer { unsafe body.append(contentsOf: $0) }
            state = .body(header, body)
        }
    }

    /// Returns the frame if its body is complete.
    private mutating func completeFrame() -> FrameMessage? {
        guard decoder.bodyRemaining == 0 else { return nil }
        switch state {
        case .header, .sending: return nil
        case .skippedBody:
            state = .header
            return nil
        case .body(let header, let body):
            state = .sending
            return FrameMessage(jpeg: FrameBytes(body), info: header.info)
        }
    }
}
