@testable import FrameWire

/// What the fields that only other messages than frames have say.
struct OracleOtherFields: Sendable {
    /// The kinds of messages that `Message-Type` tells apart; a frame has no such field.
    enum Kind: Sendable {
        case audio, status
        /// One of a later version, to be skipped by its length.
        case unknown
    }

    /// The states that `Sender-State` tells apart.
    enum State: String {
        case live, paused, stopped
    }

    private(set) var kind: Kind?
    private(set) var audioKind = AudioKind.app
    private(set) var sampleRate = 0
    private(set) var channels = 1
    private(set) var state = State.live
    private(set) var finishReason = ControlRequest.FinishReason.error
    private(set) var version = 0
    private(set) var pong: UInt64 = 0
    private(set) var refusedPreferences: UInt64 = 0

    /// Takes the word in a field, at the carriage return.
    mutating func take(_ word: String, in field: OracleMessageField) throws(HeaderFault) {
        switch field {
        case .messageType:
            kind = word == "audio" ? .audio : word == "status" ? .status : .unknown
        case .audioKind:
            guard let word = AudioKind(rawValue: word) else { throw HeaderFault(.wordUnknown) }
            audioKind = word
        case .state:
            guard let word = State(rawValue: word) else { throw HeaderFault(.wordUnknown) }
            state = word
        default: break
        }
    }

    /// Takes the number in a field, which is within the field's range.
    mutating func take(_ number: UInt64, in field: OracleMessageField) {
        switch field {
        case .sampleRate: sampleRate = Int(clamping: number)
        case .channels: channels = Int(clamping: number)
        case .finishReason: finishReason = ControlRequest.FinishReason(rawValue: Int(clamping: number)) ?? .error
        case .version: version = Int(clamping: number)
        case .pong: pong = number
        case .refusedPreferences: refusedPreferences = number
        default: break
        }
    }
}
