/// Collects the field values of one request.
///
/// `Content-Length` frames the stream, so a problem with it is an error. A problem with any other field is only
/// recorded: the request is skipped, and the next one can still be found.
struct ControlFields: Sendable {
    private var fields: HeaderFields<ControlField>

    /// The first fault of the request, and the number of header bytes before the wrong one.
    private(set) var fault: (code: WireError.Code, byteCount: Int)?

    init(limits: ControlLimits) {
        fields = HeaderFields(maximumContentLength: limits.maximumContentLength)
    }

    /// The length of the body that follows; nil if the header does not state it.
    var bodyLength: Int? { fields[count: .contentLength] }

    /// Begins the field with this name in a request, at its colon, after `byteCount` bytes of the header.
    mutating func begin(name: [UInt8], of request: ControlName?, at byteCount: Int) throws(HeaderFault) {
        var field = fields.field(named: name)
        if let known = field, !known.framesBody, request?.fields.contains(known) != true { field = nil }
        do {
            try fields.begin(field)
        } catch {
            try forgive(error, in: field, at: byteCount)
        }
    }

    /// Consumes a byte of the value, starting with the first one that is not white space.
    mutating func take(_ byte: UInt8, at byteCount: Int) throws(HeaderFault) {
        do {
            try fields.take(byte)
        } catch {
            try forgive(error, in: fields.current, at: byteCount)
        }
    }

    /// Ends the value, at the carriage return.
    mutating func endValue(at byteCount: Int) throws(HeaderFault) {
        do {
            try fields.endValue()
        } catch {
            try forgive(error, in: fields.current, at: byteCount)
        }
    }

    /// Prepares for the next header.
    mutating func reset() {
        fields.reset()
        fault = nil
    }

    /// Records why the request is invalid, unless the body's length is in doubt; only the first fault counts.
    private mutating func forgive(
        _ fault: HeaderFault,
        in field: ControlField?,
        at byteCount: Int
    ) throws(HeaderFault) {
        guard field?.framesBody == false else { throw fault }
        if self.fault == nil { self.fault = (fault.code, byteCount) }
        fields.skipValue()
    }
}

extension ControlField {
    /// Whether the field determines where the next request begins.
    fileprivate var framesBody: Bool { self == .contentLength || self == .transferEncoding }
}

extension ControlFields {
    /// Returns the request with this name that the fields describe; nil if a required field is missing.
    func event(_ name: ControlName) -> ControlDecoder.Event? {
        switch name {
        case .hello: hello.map { .request(.hello($0)) }
        case .pause: .request(.pause)
        case .resume: .request(.resume)
        case .stop:
            fields[count: .finishReason].flatMap(ControlRequest.FinishReason.init(rawValue:)).map {
                .request(.stop($0))
            }
        case .prefer: preferences.map { .request(.prefer($0)) }
        case .refresh: .request(.refresh)
        case .ping: fields[.ping].map { .request(.ping($0)) }
        case .release: fields[count: .sharedBuffer].map { .release(ReleaseRequest(buffer: $0)) }
        case .decline: .request(.decline)
        // Its values are in the body.
        case .info: .request(.info(ControlRequest.SessionInfo()))
        }
    }

    private var hello: ControlRequest.Hello? {
        guard let version = fields[count: .version] else { return nil }
        var wants: ControlRequest.Wants = []
        if fields[.wantsPictures] == 1 { wants.insert(.frames) }
        if fields[.wantsAudio] == 1 { wants.insert(.audio) }
        return ControlRequest.Hello(
            version: version,
            wants: wants,
            sharedMemory: fields[count: .sharedMemory],
            wantsInfo: fields[.wantsInfo] == 1
        )
    }

    private var preferences: ControlRequest.Preferences? {
        var size: BufferSize?
        switch (fields[count: .width], fields[count: .height]) {
        case (nil, nil): break
        case (let width?, let height?): size = BufferSize(width: width, height: height)
        default: return nil
        }
        return ControlRequest.Preferences(
            frameRateInMillihertz: fields[count: .frameRate],
            size: size,
            quality: fields[count: .quality],
            byteRate: fields[count: .byteRate]
        )
    }
}

/// The fields that have a meaning in requests; every other one is skipped.
enum ControlField: Int, HeaderField {
    case contentLength, transferEncoding, version, wantsPictures, wantsAudio, finishReason
    case frameRate, width, height, quality, byteRate, ping, sharedMemory, sharedBuffer, wantsInfo, infoContinues

    static let table = FieldTable<Self>()

    var definition: FieldDefinition {
        switch self {
        case .contentLength: .init("Content-Length", .contentLength)
        case .transferEncoding: .init("Transfer-Encoding", .refused)
        case .version: .init("Control-Version", .number(.version))
        case .wantsPictures: .init("Wants-Pictures", .number(.init(0...1)))
        case .wantsAudio: .init("Wants-Audio", .number(.init(0...1)))
        case .finishReason: .init("Finish-Reason", .number(.finishReason))
        case .frameRate: .init("Prefer-Frame-Rate", .number(.init(1...1_000_000)))
        case .width: .init("Prefer-Width", .number(.init(.dimension, 1, 16_384)))
        case .height: .init("Prefer-Height", .number(.init(.dimension, 1, 16_384)))
        case .quality: .init("Prefer-Quality", .number(.init(1...100)))
        case .byteRate: .init("Prefer-Byte-Rate", .number(.init(.other, 1, NumberRange.largestLimit)))
        case .ping: .init("Ping-Number", .number(.any))
        case .sharedMemory: .init("Shared-Memory", .number(.version))
        case .sharedBuffer: .init("Shared-Buffer", .number(.init(SharedFrameHeader.Buffer.indices)))
        case .wantsInfo: .init("Wants-Info", .number(.init(0...1)))
        // A receiver of an earlier version divides its values if they are many: what has 1 is not all of them.
        case .infoContinues: .init("Info-Continues", .number(.init(0...0)))
        }
    }
}
