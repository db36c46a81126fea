import TestSupport

/// Programs that decode JPEGs and are not of libjpeg-turbo's makers.
enum ForeignDecoder: CaseIterable {
    case ffmpeg, pillow

    private var command: [String] {
        switch self {
        case .ffmpeg: ["ffmpeg", "-v", "error", "-f", "image2pipe", "-i", "-", "-f", "rawvideo", "-"]
        case .pillow: [ChildProcess.python, "-c", Self.script]
        }
    }

    private static let script = """
        import sys, io
        from PIL import Image
        sys.stdout.buffer.write(Image.open(io.BytesIO(sys.stdin.buffer.read())).tobytes())
        """

    var isInstalled: Bool {
        let options = self == .ffmpeg ? ["-version"] : ["-c", "import PIL"]
        return (try? ChildProcess(command[0], options).status) == 0
    }

    private struct Failure: Error { let status: Int32 }

    /// The pixels of a JPEG, arranged as the program likes.
    func decode(_ jpeg: [UInt8]) throws -> [UInt8] {
        let decoder = try ChildProcess(command[0], Array(command.dropFirst()), input: jpeg)
        guard decoder.status == 0, !decoder.output.isEmpty else { throw Failure(status: decoder.status) }
        return decoder.output
    }
}
