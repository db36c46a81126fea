@testable import FrameWire

/// Collects what the fields of one request say.
///
/// `Content-Length` frames the stream, so what is wrong with it is an error. What is wrong with any other field is only
/// noted: the request is skipped, and the next one can still be found.
struct OracleControlFields: Sendable {
    private let limits: ControlLimits
    private var values: [UInt64?]

    /// The first fault of the request, and the bytes of its header before the wrong one.
    private(set) var fault: (code: WireError.Code, byteCount: Int)?

    /// The field whose value is being taken; nil within one that means nothing here.
    private var current: OracleControlField?
    private var number = NumberReader()

    init(limits: ControlLimits) {
        self.limits = limits
        values = Array(repeating: nil, count: OracleControlField.allCases.count)
    }

    /// What a field said, if it occurred.
    subscript(field: OracleControlField) -> UInt64? { values[field.rawValue] }

    /// What a field said as a number for the API; every one of them but a ping's is small.
    subscript(count field: OracleControlField) -> Int? { self[field].map { Int(clamping: $0) } }

    /// Begins the field of this name in a request, at its colon, behind so many bytes of the header.
    mutating func begin(name: [UInt8], of request: ControlName?, at byteCount: Int) throws(HeaderFault) {
        current = nil
        guard let field = OracleControlField(name: name) else { return }
        guard field != .transferEncoding else { throw HeaderFault(.fieldUnsupported) }
        if field == .contentLength {
            guard self[field] == nil else { throw HeaderFault(.fieldDuplicate) }
        } else {
            guard let request, request.oracleFields.contains(field) else { return }
            guard self[field] == nil else { return note(.fieldDuplicate, at: byteCount) }
        }
        current = field
        number = NumberReader(within: field.range(within: limits))
    }

    /// Takes a byte of the value, from its first that is not white space on.
    mutating func take(_ byte: UInt8, at byteCount: Int) throws(HeaderFault) {
        guard current != nil else { return }
        do {
            try number.take(byte)
        } catch {
            try forgive(error, at: byteCount)
        }
    }

    /// Ends the value, at the carriage return.
    mutating func endValue(at byteCount: Int) throws(HeaderFault) {
        guard let current else { return }
        do {
            values[current.rawValue] = try number.end()
        } catch {
            try forgive(error, at: byteCount)
        }
    }

    /// Notes what keeps the request from meaning anything; only the first such thing counts.
    mutating func note(_ code: WireError.Code, at byteCount: Int) {
        if fault == nil { fault = (code, byteCount) }
    }

    /// Makes ready for the next header.
    mutating func reset() {
        for index in values.indices { values[index] = nil }
        fault = nil
        current = nil
    }

    private mutating func forgive(_ fault: HeaderFault, at byteCount: Int) throws(HeaderFault) {
        guard current != .contentLength else { throw fault }
        note(fault.code, at: byteCount)
        current = nil
    }
}

extension OracleControlFields {
    /// Returns the request with this name that the fields describe; nil if a required field is missing, or if the name
    /// is of a later version.
    func request(_ name: ControlName) -> ControlRequest? {
        switch name {
        case .hello: hello.map(ControlRequest.hello)
        case .pause: .pause
        case .resume: .resume
        case .stop:
            self[count: .finishReason].flatMap(ControlRequest.FinishReason.init(rawValue:)).map(ControlRequest.stop)
        case .prefer: preferences.map(ControlRequest.prefer)
        case .refresh: .refresh
        case .ping: self[.ping].map(ControlRequest.ping)
        case .release, .decline, .info: nil
        }
    }

    private var hello: ControlRequest.Hello? {
        guard let version = self[count: .version] else { return nil }
        var wants: ControlRequest.Wants = []
        if self[.wantsPictures] == 1 { wants.insert(.frames) }
        if self[.wantsAudio] == 1 { wants.insert(.audio) }
        return ControlRequest.Hello(version: version, wants: wants)
    }

    private var preferences: ControlRequest.Preferences? {
        var size: BufferSize?
        switch (self[count: .width], self[count: .height]) {
        case (nil, nil): break
        case (let width?, let height?): size = BufferSize(width: width, height: height)
        default: return nil
        }
        return ControlRequest.Preferences(
            frameRateInMillihertz: self[count: .frameRate],
            size: size,
            quality: self[count: .quality],
            byteRate: self[count: .byteRate]
        )
    }
}

extension ControlName {
    /// The fields that mean something in this request.
    fileprivate var oracleFields: [OracleControlField] {
        switch self {
        case .hello: [.version, .wantsPictures, .wantsAudio]
        case .stop: [.finishReason]
        case .prefer: [.frameRate, .width, .height, .quality, .byteRate]
        case .ping: [.ping]
        case .pause, .resume, .refresh, .release, .decline, .info: []
        }
    }
}
