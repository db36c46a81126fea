@testable import FrameWire

/// Decodes headers as the first version of this package did: with a parser of its own for each direction, byte by byte.
///
/// It is what the parsers over tables of fields are compared with. Fields and kinds of messages that came later, such as
/// those for shared memory, are unknown to it.
struct OracleMessageDecoder {
    private var scanner: HeaderScanner<StatusLine>
    private var fields: OracleMessageFields
    private var position = StreamPosition()

    init(limits: FrameMessageDecoder.Limits) {
        scanner = HeaderScanner(maximumHeaderBytes: limits.maximumHeaderBytes, maximumFields: limits.maximumFields)
        fields = OracleMessageFields(limits: limits)
    }

    /// What each message of a stream is, and the error that ends it.
    mutating func messages(of bytes: [UInt8]) -> ([FrameMessageDecoder.Message], WireError?) {
        var messages: [FrameMessageDecoder.Message] = []
        var index = 0
        do {
            while index < bytes.count {
                if position.bodyRemaining > 0 {
                    let count = min(position.bodyRemaining, bytes.count - index)
                    _ = position.consumeBody(count)
                    index += count
                } else if let message = try take(bytes[index]) {
                    messages.append(message)
                    index += 1
                } else {
                    index += 1
                }
            }
            try position.finish(headerByteCount: scanner.byteCount)
        } catch {
            return (messages, error)
        }
        return (messages, nil)
    }

    private mutating func take(_ byte: UInt8) throws(WireError) -> FrameMessageDecoder.Message? {
        do throws(HeaderFault) {
            switch try scanner.take(byte) {
            case .more: break
            case .name: try fields.begin(name: scanner.line)
            case .value: try fields.take(byte)
            case .valueEnd: try fields.endValue()
            case .headerEnd:
                if let fault = fields.fault { throw fault }
                let (message, length) = (fields.message, fields.bodyLength)
                scanner.reset()
                fields.reset()
                position.advance(by: 1)
                position.beginBody(of: length)
                return message
            }
            scanner.keep(byte)
            position.advance(by: 1)
            return nil
        } catch {
            let excerpt = Excerpt.text(of: scanner.line, isCut: scanner.isLineCut, endingWith: byte)
            throw position.fail(error.code, detail: error.detail ?? excerpt)
        }
    }
}

/// Decodes requests as the first version of this package did.
struct OracleControlDecoder {
    private var scanner: HeaderScanner<RequestLine>
    private var fields: OracleControlFields
    private var position = StreamPosition()
    private var headerOffset: UInt64 = 0

    init(limits: ControlLimits) {
        scanner = HeaderScanner(maximumHeaderBytes: limits.maximumHeaderBytes, maximumFields: limits.maximumFields)
        fields = OracleControlFields(limits: limits)
    }

    /// What each request of a stream is, and the error that ends it.
    mutating func events(of bytes: [UInt8]) -> ([ControlDecoder.Event], WireError?) {
        var events: [ControlDecoder.Event] = []
        var index = 0
        do {
            while index < bytes.count {
                if position.bodyRemaining > 0 {
                    let count = min(position.bodyRemaining, bytes.count - index)
                    _ = position.consumeBody(count)
                    index += count
                } else {
                    if scanner.byteCount == 0 { headerOffset = position.offset }
                    if let event = try take(bytes[index]) { events.append(event) }
                    index += 1
                }
            }
            try position.finish(headerByteCount: scanner.byteCount)
        } catch {
            return (events, error)
        }
        return (events, nil)
    }

    private mutating func take(_ byte: UInt8) throws(WireError) -> ControlDecoder.Event? {
        let before = scanner.byteCount
        do throws(HeaderFault) {
            switch try scanner.take(byte) {
            case .more: break
            case .name: try fields.begin(name: scanner.line, of: scanner.start.request, at: before)
            case .value: try fields.take(byte, at: before)
            case .valueEnd: try fields.endValue(at: before)
            case .headerEnd:
                guard let length = fields[count: .contentLength] else {
                    throw HeaderFault(.fieldMissing, detail: OracleControlField.contentLength.name)
                }
                let event = event
                scanner.reset()
                fields.reset()
                position.advance(by: 1)
                position.beginBody(of: length)
                return event
            }
            scanner.keep(byte)
            position.advance(by: 1)
            return nil
        } catch {
            let excerpt = Excerpt.text(of: scanner.line, isCut: scanner.isLineCut, endingWith: byte)
            throw position.fail(error.code, detail: error.detail ?? excerpt)
        }
    }

    private var event: ControlDecoder.Event {
        let excerpt = scanner.start.excerpt
        // The shared scanner recognizes the names of later requests, which were unknown to the first version.
        guard let name = scanner.start.request, ![.release, .decline, .info].contains(name) else {
            return .skipped(SkippedRequest(name: excerpt, reason: .unknown, byteOffset: headerOffset))
        }
        if fields.fault == nil, let request = fields.request(name) { return .request(request) }
        let (code, byteCount) = fields.fault ?? (.fieldMissing, scanner.byteCount - 1)
        let offset = headerOffset &+ UInt64(byteCount)
        return .skipped(SkippedRequest(name: excerpt, reason: .malformed(code), byteOffset: offset))
    }
}
