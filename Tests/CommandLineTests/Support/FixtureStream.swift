import Foundation

/// A stream of `Fixtures/streams`, and what its JSON says that must come out.
struct FixtureStream: Sendable {
    struct Frame: Decodable, Sendable {
        let width, height, orientation, rotation, contentLength, jpegWidth, jpegHeight: Int
        let headOffset, bodyOffset: Int
    }

    /// How a stream that is cut ends.
    struct Fault: Decodable, Sendable {
        let code: String
        let `where`: String
        let got: Int
        let want: Int?
    }

    private struct Expectation: Decodable {
        let frames: [Frame]
        let error: Fault?
    }

    let path: String
    let bytes: [UInt8]
    let frames: [Frame]
    let error: Fault?

    /// The stream at the path of a file `NAME.http`, with its `NAME.json`.
    init(at path: String) throws {
        self.path = path
        bytes = try Data.bytes(at: path)
        let json = URL(filePath: path).deletingPathExtension().appendingPathExtension("json")
        let expectation = try JSONDecoder().decode(Expectation.self, from: Data(contentsOf: json))
        frames = expectation.frames
        error = expectation.error
    }

    /// The body of each frame, padding included.
    var bodies: [[UInt8]] {
        frames.map { Array(bytes[$0.bodyOffset..<$0.bodyOffset + $0.contentLength]) }
    }

    /// The names of all streams, without their extension.
    static var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: Places.fixture("streams"))
                .filter { $0.hasSuffix(".http") }.map { String($0.dropLast(5)) }.sorted()
        }
    }
}
