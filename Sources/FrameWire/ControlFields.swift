/// Collects what the fields of one request say.
///
/// `Content-Length` frames the stream, so what is wrong with it is an error. What is wrong with any other field is only
/// noted: the request is skipped, and the next one can still be found.
struct ControlFields: Sendable {
    private var fields: HeadFields<ControlField>

    /// The first fault of the request, and the bytes of its head before the wrong one.
    private(set) var fault: (code: WireError.Code, byteCount: Int)?

    init(limits: ControlLimits) {
        fields = HeadFields(maximumContentLength: limits.maximumContentLength)
    }

    /// The bytes of the body that follows; nil if the head does not say.
    var bodyLength: Int? { fields[count: .contentLength] }

    /// Begins the field of this name in a request, at its colon, behind so many bytes of the head.
    mutating func begin(name: [UInt8], of request: ControlName?, at byteCount: Int) throws(HeadFault) {
        var field = fields.field(named: name)
        if let known = field, !known.framesBody, request?.fields.contains(known) != true { field = nil }
        do {
            try fields.begin(field)
        } catch {
            try forgive(error, in: field, at: byteCount)
        }
    }

    /// Takes a byte of the value, from its first that is not white space on.
    mutating func take(_ byte: UInt8, at byteCount: Int) throws(HeadFault) {
        do {
            try fields.take(byte)
        } catch {
            try forgive(error, in: fields.current, at: byteCount)
        }
    }

    /// Ends the value, at the carriage return.
    mutating func endValue(at byteCount: Int) throws(HeadFault) {
        do {
            try fields.endValue()
        } catch {
            try forgive(error, in: fields.current, at: byteCount)
        }
    }

    /// Makes ready for the next head.
    mutating func reset() {
        fields.reset()
        fault = nil
    }

    /// Notes what keeps the request from meaning anything, unless it leaves the body's length in doubt; only the first such thing
    /// counts.
    private mutating func forgive(
        _ fault: HeadFault,
        in field: ControlField?,
        at byteCount: Int
    ) throws(HeadFault) {
        guard field?.framesBody == false else { throw fault }
        if self.fault == nil { self.fault = (fault.code, byteCount) }
        fields.skipValue()
    }
}

extension ControlField {
    /// Whether it says where the next request begins.
    fileprivate var framesBody: Bool { self == .contentLength || self == .transferEncoding }
}

extension ControlFields {
    /// The request of this name that the fields make; nil where one that it needs is missing.
    func request(_ name: ControlName) -> ControlRequest? {
        switch name {
        case .hello: hello.map(ControlRequest.hello)
        case .pause: .pause
        case .resume: .resume
        case .stop: fields[count: .finishReason].flatMap(FinishReason.init(rawValue:)).map(ControlRequest.stop)
        case .prefer: preferences.map(ControlRequest.prefer)
        case .refresh: .refresh
        case .ping: fields[.ping].map(ControlRequest.ping)
        }
    }

    private var hello: ControlHello? {
        guard let version = fields[count: .version] else { return nil }
        var wants: ControlWants = []
        if fields[.wantsPictures] == 1 { wants.insert(.pictures) }
        if fields[.wantsAudio] == 1 { wants.insert(.audio) }
        return ControlHello(version: version, wants: wants)
    }

    private var preferences: ControlPreferences? {
        var size: BufferSize?
        switch (fields[count: .width], fields[count: .height]) {
        case (nil, nil): break
        case (let width?, let height?): size = BufferSize(width: width, height: height)
        default: return nil
        }
        return ControlPreferences(
            frameRateInMillihertz: fields[count: .frameRate],
            size: size,
            quality: fields[count: .quality]
        )
    }
}
