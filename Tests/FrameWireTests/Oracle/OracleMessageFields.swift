@testable import FrameWire

/// Collects what the fields of one head say, digit by digit, and holds it to the limits.
struct OracleMessageFields: Sendable {
    private let limits: WireLimits
    private let maximumContentLength: UInt64
    private let maximumDimension: UInt64
    private let maximumPixels: UInt64

    private var seen: UInt16 = 0
    private var contentLength: UInt64 = 0
    private var width: UInt64 = 0
    private var height: UInt64 = 0
    private var orientation: UInt64 = 0
    private var presentationTime: UInt64 = 0
    private var sequence: UInt64 = 0
    private var others = OracleOtherFields()

    /// The field whose value is being taken; nil within one that means nothing here.
    private var current: OracleMessageField?
    private var number = NumberReader()
    private var word = WordReader()

    init(limits: WireLimits) {
        self.limits = limits
        maximumContentLength = NumberRange.maximum(of: limits.maximumContentLength)
        maximumDimension = NumberRange.maximum(of: limits.maximumDimension)
        maximumPixels = UInt64(clamping: limits.maximumPixels)
    }

    /// Begins the field of this name, at its colon.
    mutating func begin(name: [UInt8]) throws(HeadFault) {
        current = OracleMessageField(name: name)
        guard let current else { return }
        guard current != .transferEncoding else { throw HeadFault(.fieldUnsupported) }
        guard !has(current) else { throw HeadFault(.fieldDuplicate) }
        if current.isWord { word = WordReader() } else { number = NumberReader(within: range(of: current)) }
    }

    /// Takes a byte of the value, from its first that is not white space on.
    mutating func take(_ byte: UInt8) throws(HeadFault) {
        guard let current else { return }
        if current.isWord {
            try word.take(byte)
        } else {
            try number.take(byte)
        }
    }

    /// Ends the value, at the carriage return.
    mutating func endValue() throws(HeadFault) {
        guard let current else { return }
        if current.isWord {
            try others.take(String(decoding: word.end(), as: UTF8.self), in: current)
            seen |= current.bit
        } else {
            store(try number.end(), in: current)
        }
    }

    /// What the head as a whole lacks or has too much of, once it ended; nil if it is valid.
    var fault: HeadFault? {
        if let missing = required.first(where: { !has($0) }) { return HeadFault(.fieldMissing, detail: missing.name) }
        switch others.kind {
        case nil: return hasFewEnoughPixels ? nil : HeadFault(.pixelsTooMany, detail: "\(width) x \(height)")
        case .audio: return lengthFaultOfAudio
        case .status: return contentLength == 0 ? nil : HeadFault(.contentLengthInvalid, detail: "\(contentLength)")
        case .unknown: return nil
        }
    }

    /// What the head that ended is; of use only without a ``fault``.
    var event: FrameMessageDecoder.Event {
        switch others.kind {
        case nil: .head(head)
        case .audio: .audio(audioHead)
        case .status: .status(status)
        case .unknown: .skipped
        }
    }

    /// The bytes of the body that follows.
    var bodyLength: Int { Int(clamping: contentLength) }

    /// The head that the fields make; of use only where it ``isCompleteFrame``.
    var head: FrameHead {
        FrameHead(
            contentLength: Int(clamping: contentLength),
            bufferSize: BufferSize(width: Int(clamping: width), height: Int(clamping: height)),
            orientation: FrameOrientation(rawValue: UInt8(truncatingIfNeeded: orientation)) ?? .unknown,
            presentationTime: has(.presentationTime) ? presentationTime : nil,
            sequence: has(.sequence) ? sequence : nil
        )
    }

    /// Makes ready for the next head.
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
        case .sampleRate: .init(AudioHead.sampleRates)
        case .channels: .init(AudioHead.channelCounts)
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
        case .presentationTime: presentationTime = value
        case .sequence: sequence = value
        default: others.take(value, in: field)
        }
    }
}

// Messages that are no frames.
extension OracleMessageFields {
    /// The fields without which the head is not what it says, in the order in which they are reported missing.
    private var required: [OracleMessageField] {
        switch others.kind {
        case nil: OracleMessageField.required
        case .audio: [.contentLength, .audioKind, .sampleRate, .channels]
        case .status: [.contentLength, .state, .version] + (others.state == .stopped ? [.finishReason] : [])
        case .unknown: [.contentLength]
        }
    }

    private var lengthFaultOfAudio: HeadFault? {
        let detail = "\(contentLength)"
        if contentLength > UInt64(clamping: limits.maximumAudioBytes) {
            return HeadFault(.contentLengthTooLarge, detail: detail)
        }
        let isWhole = contentLength > 0 && contentLength.isMultiple(of: 2 * UInt64(clamping: others.channels))
        return isWhole ? nil : HeadFault(.contentLengthInvalid, detail: detail)
    }

    private var audioHead: AudioHead {
        AudioHead(
            contentLength: bodyLength,
            kind: others.audioKind,
            sampleRate: others.sampleRate,
            channels: others.channels,
            presentationTime: has(.presentationTime) ? presentationTime : nil,
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
