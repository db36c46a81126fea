import Foundation
import FrameSocket
import PNGReading
import TestSupport

/// The files of `Fixtures/`, found from the place of this file.
enum Fixtures {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../Fixtures").standardizedFileURL

    static func bytes(_ path: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: root.appendingPathComponent(path)))
    }

    /// What `manifest.json` says of an image.
    struct Image: Decodable, Sendable, CustomStringConvertible {
        let file: String
        let width: Int
        let height: Int
        /// What libjpeg-turbo's own programs keep at quality 90, in dB, by subsampling.
        let psnr90: [String: Double]

        var description: String { file }

        /// The pixels.
        func pixels(as format: PixelFormat = .rgb) throws -> PixelBuffer {
            let png = try bytes(file)
            return try PixelBuffer(png: png.span).converted(as: format)
        }
    }

    private struct Manifest: Decodable {
        let photos: [Image]
        let screens: [String: [Image]]
    }

    /// The photographs, and of each sequence of screens every frame.
    static let images: [Image] = {
        guard let data = try? Data(contentsOf: root.appendingPathComponent("manifest.json")),
            let manifest = try? JSONDecoder().decode(Manifest.self, from: data)
        else { return [] }
        return manifest.photos + manifest.screens.sorted { $0.key < $1.key }.flatMap(\.value)
    }()
}
