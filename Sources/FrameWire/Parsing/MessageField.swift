/// The fields that have a meaning in messages; every other one is skipped.
enum MessageField: Int, HeaderField {
    case contentLength, width, height, orientation, timestamp, sequence, transferEncoding
    case messageType, audioKind, sampleRate, channels, state, finishReason, version, pong, refusedPreferences
    case sharedBuffer, sharedBytes, sharedFormat, changedRow, changedRows
    case offset, stride, secondOffset, secondStride, thirdOffset, thirdStride
    case frameRate, offersAudio

    static let table = FieldTable<Self>()

    var definition: FieldDefinition {
        switch self {
        case .contentLength: .init("Content-Length", .contentLength)
        case .width: .init("Buffer-Width", .dimension)
        case .height: .init("Buffer-Height", .dimension)
        case .orientation: .init("Buffer-Orientation", .number(.init(.orientation, 0, 8)))
        case .timestamp: .init("Buffer-Presentation-Time", .number(.any))
        case .sequence: .init("Buffer-Sequence", .number(.any))
        case .transferEncoding: .init("Transfer-Encoding", .refused)
        case .messageType: .init("Message-Type", .openWord(MessageKind.allCases.map(\.rawValue)))
        case .audioKind: .init("Audio-Kind", .word(AudioKind.allCases.map(\.rawValue)))
        case .sampleRate: .init("Audio-Sample-Rate", .number(.init(AudioHeader.sampleRates)))
        case .channels: .init("Audio-Channels", .number(.init(AudioHeader.channelCounts)))
        case .state: .init("Sender-State", .word(StateWord.allCases.map(\.rawValue)))
        case .finishReason: .init("Finish-Reason", .number(.finishReason))
        case .version: .init("Control-Version", .number(.version))
        case .pong: .init("Pong-Number", .number(.any))
        case .refusedPreferences: .init("Refused-Preferences", .number(.any))
        case .sharedBuffer: .init("Shared-Buffer", .number(.init(SharedFrameHeader.Buffer.indices)))
        case .sharedBytes: .init("Shared-Bytes", .number(.init(SharedFrameHeader.Buffer.byteCounts)))
        case .sharedFormat: .init("Shared-Format", .word(PixelFormat.allCases.map(\.rawValue)))
        case .changedRow: .init("Changed-Row", .number(.init(0...65_535)))
        case .changedRows: .init("Changed-Rows", .number(.init(0...65_535)))
        case .offset: .init("Shared-Offset", .number(.init(SharedFrameHeader.Buffer.offsets)))
        case .stride: .init("Shared-Stride", .number(.init(SharedFrameHeader.Buffer.byteCounts)))
        case .secondOffset: .init("Shared-Offset-2", .number(.init(SharedFrameHeader.Buffer.offsets)))
        case .secondStride: .init("Shared-Stride-2", .number(.init(SharedFrameHeader.Buffer.byteCounts)))
        case .thirdOffset: .init("Shared-Offset-3", .number(.init(SharedFrameHeader.Buffer.offsets)))
        case .thirdStride: .init("Shared-Stride-3", .number(.init(SharedFrameHeader.Buffer.byteCounts)))
        case .frameRate: .init("Frame-Rate", .number(.init(ControlRequest.SessionInfo.frameRates)))
        case .offersAudio: .init("Offers-Audio", .number(.init(0...1)))
        }
    }
}

/// The kinds of messages that `Message-Type` distinguishes; a frame has no such field.
enum MessageKind: String, CaseIterable {
    case audio, status, info
    case sharedBuffer = "shared-buffer"
    case sharedFrame = "shared-frame"
}

/// The states that `Sender-State` distinguishes.
enum StateWord: String, CaseIterable {
    case live, paused, stopped
}
