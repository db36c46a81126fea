import Foundation
import FrameSocket
import PNGReading

/// The files of `Fixtures/`, found from where this file lies.
enum Fixtures {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../Fixtures").standardizedFileURL

    static func bytes(_ path: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: root.appendingPathComponent(path)))
    }

    /// What `manifest.json` says of a picture.
    struct Picture: Decodable, Sendable, CustomStringConvertible {
        let file: String
        let width: Int
        let height: Int
        /// What libjpeg-turbo's own programs keep at quality 90, in dB, by subsampling.
        let psnr90: [String: Double]

        var description: String { file }

        /// The pixels.
        func pixels(as format: PixelFormat = .rgb) throws -> PixelBuffer {
            let png = try bytes(file)
            let ppm = try PixelBuffer(png: png.span).ppm()
            return try PixelBuffer(ppm: ppm.span, as: format)
        }
    }

    private struct Manifest: Decodable {
        let photos: [Picture]
        let screens: [String: [Picture]]
    }

    /// The photographs, and of each sequence of screens every frame.
    static let pictures: [Picture] = {
        guard let data = try? Data(contentsOf: root.appendingPathComponent("manifest.json")),
            let manifest = try? JSONDecoder().decode(Manifest.self, from: data)
        else { return [] }
        return manifest.photos + manifest.screens.sorted { $0.key < $1.key }.flatMap(\.value)
    }()

    /// What must come out of a stream of the wire.
    struct Stream: Decodable {
        struct Frame: Decodable {
            let width: Int
            let height: Int
            let orientation: UInt8
            let rotation: Int
            let contentLength: Int
            let jpegWidth: Int
            let jpegHeight: Int
            let bodyOffset: Int
        }

        struct Failure: Decodable {
            let code: String
            let `where`: String
            let got: Int
            let want: Int?
        }

        let bytes: Int
        let frames: [Frame]
        let error: Failure?
    }

    /// The names of the streams.
    static let streams: [String] = {
        let files = try? FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent("streams").path)
        return (files ?? []).filter { $0.hasSuffix(".http") }.map { String($0.dropLast(5)) }.sorted()
    }()

    static func stream(_ name: String) throws -> (bytes: [UInt8], expected: Stream) {
        let json = try Data(contentsOf: root.appendingPathComponent("streams/\(name).json"))
        return (try bytes("streams/\(name).http"), try JSONDecoder().decode(Stream.self, from: json))
    }
}
