import FrameSocket
import Locking

/// `framesocket record`: listens at a path and writes the frames of one sender at a time to a Matroska file.
struct RecordCommand: Command {
    static let name = "record"
    static let summary = "record a stream to a Matroska file"
    static let help = """
        Usage: framesocket record PATH FILE [options]

        Listens at PATH, or at tcp:PORT on this machine, and writes the sender's JPEGs
        unchanged, with their times and orientations, to the Matroska file FILE; - is
        standard output. Records until it is stopped. From its first frame on, the file
        is playable however the program ends; before that it is empty.

        While a sender is connected, no other is accepted; a later one continues the
        same file.

          --count N        end after N frames
          --once           end when the first sender of a frame leaves
          --overwrite      replace FILE if it exists; by default that is an error
          --json           print one JSON object per line for each event
        \(HandshakeTokenFiles.help)
          --timeout S      end with exit code 75 unless --count is reached or, with
                           --once, the first sender of a frame has left within S
                           seconds
          --quiet          print nothing but failures on standard error

        Examples:
          framesocket record PATH meeting.mkv
          framesocket record PATH - --once | ffmpeg -i - meeting.mp4
        """

    let endpoint: SocketEndpoint
    let path: String
    let tokens: HandshakeTokenFiles?
    let count: Int?
    let endsWithSender: Bool
    let overwrites: Bool
    let timeout: Double?
    let isJSON: Bool
    let isQuiet: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        count = try arguments.integer("--count", in: 1...(.max))
        endsWithSender = arguments.flag("--once")
        overwrites = arguments.flag("--overwrite")
        tokens = try arguments.tokens()
        timeout = try arguments.number("--timeout")
        isJSON = arguments.flag("--json")
        isQuiet = arguments.flag("--quiet")
        let rest = try arguments.rest()
        guard rest.count == 2 else {
            throw UsageError(message: "record expects a path to listen at and a file")
        }
        guard !rest[0].hasSuffix(".mkv") || rest[1].hasSuffix(".mkv") else {
            let words = "\(rest[1].shellWord) \(rest[0].shellWord)"
            throw UsageError(message: "record expects the path first, and then the file: record \(words)")
        }
        endpoint = try Arguments.endpoint(rest[0])
        path = rest[1]
        if path == "-" { try Terminal.checkTakesBytes() }
        guard path != "-" || !isJSON else {
            throw UsageError(message: "--json and a recording to standard output are mutually exclusive")
        }
    }

    func run() async throws(CommandFailure) {
        let recording = Recording(self)
        let timeout = timeout
        try await recording.listening.run(for: timeout) {
            CommandFailure(.timedOut, "the recording did not end within \(Format.seconds(timeout ?? 0))")
        } _: { () throws(CommandFailure) in
            try await recording.record()
        } summary: {
            recording.summarise()
            return nil
        }
    }
}
