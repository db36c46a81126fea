/// The fields that have a meaning in requests; every other one is skipped.
enum ControlField: Int, HeaderField {
    case contentLength, transferEncoding, version, wantsPictures, wantsAudio, finishReason
    case frameRate, width, height, quality, ping, sharedMemory, sharedBuffer

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
        case .ping: .init("Ping-Number", .number(.any))
        case .sharedMemory: .init("Shared-Memory", .number(.version))
        case .sharedBuffer: .init("Shared-Buffer", .number(.init(SharedFrameHeader.Buffer.indices)))
        }
    }
}
