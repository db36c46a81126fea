import Foundation
import TestSupport

/// Programs that decode JPEGs and are not of libjpeg-turbo's makers.
enum ForeignDecoder: CaseIterable {
    case ffmpeg, pillow

    private var command: [String] {
        switch self {
        case .ffmpeg: ["ffmpeg", "-v", "error", "-f", "image2pipe", "-i", "-", "-f", "rawvideo", "-"]
        case .pillow: [Self.python, "-c", Self.script]
        }
    }

    /// The Python that `scripts/setup` makes: a link, which must not be followed, for it finds its modules beside the link.
    private static let python =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().path
        + "/../../../.tools/venv/bin/python"

    private static let script = """
        import sys, io
        from PIL import Image
        sys.stdout.buffer.write(Image.open(io.BytesIO(sys.stdin.buffer.read())).tobytes())
        """

    var isInstalled: Bool {
        (try? run(self == .ffmpeg ? ["ffmpeg", "-version"] : [Self.python, "-c", "import PIL"], [])) != nil
    }

    /// The pixels of a JPEG, arranged as the program likes.
    func decode(_ jpeg: [UInt8]) throws -> [UInt8] { try run(command, jpeg) }

    private struct Failure: Error { let status: Int32 }

    private func run(_ command: [String], _ input: [UInt8]) throws -> [UInt8] {
        let source = FileManager.default.temporaryDirectory.appendingPathComponent("strips-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: source) }
        try Data(input).write(to: source)
        let decoder = try ChildProcess(command[0], Array(command.dropFirst()), input: source.path)
        guard decoder.status == 0, input.isEmpty || !decoder.output.isEmpty else {
            throw Failure(status: decoder.status)
        }
        return decoder.output
    }
}
