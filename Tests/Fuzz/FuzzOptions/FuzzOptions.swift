// Words behind the program's name, and files that it reads: there is a sentence for everything that is wrong.

import FrameSocket

private let commands: [any Command.Type] = [
    RecordCommand.self, ReplayCommand.self, PreviewCommand.self, ReceiveCommand.self, SendCommand.self,
    DoctorCommand.self,
]

/// What libFuzzer calls with each input: the first byte says what the others are.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOptions(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let kind = bytes.first else { return 0 }
    let content = bytes.dropFirst()
    switch kind % 16 {
    case 14: readRecording(Array(content))
    default: parse(content, commands[Int(kind) % commands.count])
    }
    return 0
}

/// One word a line.
private func parse(_ content: ArraySlice<UInt8>, _ command: any Command.Type) {
    let words = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    var arguments = Arguments(words.map { String(decoding: $0, as: UTF8.self) })
    do {
        _ = try command.init(&arguments)
    } catch {
        guard !error.message.isEmpty else { fatalError("a complaint without a sentence") }
    }
}

private func readRecording(_ bytes: [UInt8]) {
    var reader = MatroskaReader(InputFile(bytes, name: "file"))
    do {
        while let entry = try reader.next() {
            let (_, jpeg) = OrientationSegment.removed(from: entry.jpeg)
            guard jpeg.count <= bytes.count else { fatalError("a frame is too large") }
        }
    } catch {
        guard !error.message.isEmpty else { fatalError("an error without a sentence") }
    }
}
