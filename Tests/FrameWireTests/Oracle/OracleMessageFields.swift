@testable import FrameWire

/// Collects what the fields of one header say, digit by digit, and holds it to the limits.
struct OracleMessageFields: Sendable {
    private let limits: FrameMessageDecoder.Limits
    private let maximumContentLength: UInt64
    private let maximumDimension: UInt64
    private let maximumPixels: UInt64

    private var seen: UInt16 = 0
    private var contentLength: UInt64 = 0
    private var width: UInt64 = 0
    private var height: UInt64 = 0
    private var orientation: UInt64 = 0
    private var timestamp: UInt64 = 0
    private var sequence: UInt64 = 0
    private var others = OracleOtherFields()

    /// The field whose value is being taken; nil within one that means nothing here.
    private var current: OracleMessageField?
    private var number = NumberReader()
    private var word = WordReader()

    init(limits: FrameMessageDecoder.Limits) {
        self.limits = limits
        maximumContentLength = NumberRange.maximum(of: limits.maximumContentLength)
        maximumDimension = NumberRange.maximum(of: limits.maximumDimension)
        maximumPixels = UInt64(clamping: limits.maximumPixels)
    }

    /// Begins the field of this name, at its colon.
    mutating func begin(name: [UInt8]) throws(HeaderFault) {
        current = OracleMessageField(name: name)
        guard let current else { return }
        guard current != .transferEncoding else { throw HeaderFault(.fieldUnsupported) }
        guard !has(current) else { throw HeaderFault(.fieldDuplicate) }
        if current.isWord { word = WordReader() } else { number = NumberReader(within: range(of: current)) }
    }

    /// Takes a byte of the value, from its first that is not white space on.
    mutating func take(_ byte: UInt8) throws(HeaderFault) {
        guard let current else { return }
        if current.isWord {
            try word.take(byte)
        } else {
            try number.take(byte)
        }
    }

    /// Ends the value, at the carriage return.
    mutating func endValue() throws(HeaderFault) {
        guard let current else { return }
        if current.isWord {
            try others.take(String(decoding: word.end(), as: UTF8.self), in: current)
            seen |= current.bit
        } else {
            store(try number.end(), in: current)
        }
    }

    /// What the header as a whole lacks or has too much of, once it ended; nil if it is valid.
    var fault: HeaderFault? {
        if let missing = required.first(where: { !has($0) }) { return HeaderFault(.fieldMissing, detail: missing.name) }
        switch others.kind {
        case nil: return hasFewEnoughPixels ? nil : HeaderFault(.pixelsTooMany, detail: "\(width) x \(height)")
        case .audio: return lengthFaultOfAudio
        case .status: return contentLength == 0 ? nil : HeaderFault(.contentLengthInvalid, detail: "\(contentLength)")
        case .unknown: return nil
        }
    }

    /// What the header that ended is; of use only without a ``fault``.
    var message: FrameMessageDecoder.Message {
        switch others.kind {
        case nil: .frame(header)
        case .audio: .audio(audioHeader)
        case .status: .status(status)
        case .unknown: .unknown
        }
    }

    /// The bytes of the body that follows.
    var bodyLength: Int { Int(clamping: contentLength) }

    /// The header that the fields make; of use only where it ``isCompleteFrame``.
    var header: FrameHeader {
        FrameHeader(
            contentLength: Int(clamping: contentLength),
            info: FrameInfo(
                bufferSize: BufferSize(width: Int(clamping: width), height: Int(clamping: height)),
                orientation: FrameOrientation(rawValue: UInt8(truncatingIfNeeded: orientation)) ?? .unknown,
                timestamp: has(.timestamp) ? timestamp : nil,
                sequence: has(.sequence) ? sequence : nil
            )
        )
    }

    /// Makes ready for the next header.
    mutating func reset() {
        if has(.messageType) { others = OracleOtherFields() }
        seen = 0
    }

    private func has(_ field: OracleMessageField) -> Bool { seen & field.bit != 0 }

    private var hasFewEnoughPixels: Bool {
        let (pixels, overflows) = width.multipliedReportingOverflow(by: height)
        return !overflows && pixels <= maximumPixels
    }

    private func range(of field: OracleMessageField) -> NumberRange {
        switch field {
        case .contentLength: .init(.length, 0, maximumContentLength)
        case .width, .height: .init(.dimension, 1, maximumDimension)
        case .orientation: .init(.orientation, 0, 8)
        case .sampleRate: .init(AudioHeader.sampleRates)
        case .channels: .init(AudioHeader.channelCounts)
        case .finishReason: .finishReason
        case .version: .version
        default: .any
        }
    }

    private mutating func store(_ value: UInt64, in field: OracleMessageField) {
        seen |= field.bit
        switch field {
        case .contentLength: contentLength = value
        case .width: width = value
        case .height: height = value
        case .orientation: orientation = value
        case .timestamp: timestamp = value
        case .sequence: sequence = value
        default: others.take(value, in: field)
        }
    }
}

// Messages that are no frames.
extension OracleMessageFields {
    /// The fields without which the header is not what it says, in the order in which they are reported missing.
    private var required: [OracleMessageField] {
        switch others.kind {
        case nil: OracleMessageField.required
        case .audio: [.contentLength, .audioKind, .sampleRate, .channels]
        case .status: [.contentLength, .state, .version] + (others.state == .stopped ? [.finishReason] : [])
        case .unknown: [.contentLength]
        }
    }

    private var lengthFaultOfAudio: HeaderFault? {
        let detail = "\(contentLength)"
        if contentLength > UInt64(clamping: limits.maximumAudioBytes) {
            return HeaderFault(.contentLengthTooLarge, detail: detail)
        }
        let isWhole = contentLength > 0 && contentLength.isMultiple(of: 2 * UInt64(clamping: others.channels))
        return isWhole ? nil : HeaderFault(.contentLengthInvalid, detail: detail)
    }

    private var audioHeader: AudioHeader {
        AudioHeader(
            contentLength: bodyLength,
            kind: others.audioKind,
            sampleRate: others.sampleRate,
            channels: others.channels,
            timestamp: has(.timestamp) ? timestamp : nil,
            sequence: has(.sequence) ? sequence : nil
        )
    }

    private var status: SenderStatus {
        let state: SenderStatus.State =
            switch others.state {
            case .live: .live
            case .paused: .paused
            case .stopped: .stopped(others.finishReason)
            }
        var status = SenderStatus(state: state, pong: has(.pong) ? others.pong : nil, version: others.version)
        status.refusedPreferences = others.refusedPreferences
        return status
    }
}
