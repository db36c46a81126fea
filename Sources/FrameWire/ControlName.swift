/// The requests of this version, named as in the request line.
enum ControlName: String, CaseIterable {
    case hello, pause, resume, stop, prefer, refresh, ping, release, decline

    /// The fields that have a meaning in this request; every other one is skipped.
    var fields: [ControlField] {
        switch self {
        case .hello: [.version, .wantsPictures, .wantsAudio, .sharedMemory]
        case .stop: [.finishReason]
        case .prefer: [.frameRate, .width, .height, .quality]
        case .ping: [.ping]
        case .release: [.sharedBuffer]
        case .pause, .resume, .refresh, .decline: []
        }
    }
}
