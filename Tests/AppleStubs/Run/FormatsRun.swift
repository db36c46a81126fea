// Buffers in the formats that ReplayKit documents, and in formats, sizes and paddings that it does not.

import CoreMedia
import CoreVideo
import Foundation
import FrameSocket
import FrameSocketApple
import ReplayKit

enum FormatsRun {
    /// A pixel format, the samples of its planes, and the red, green and blue that must come out.
    private struct Case {
        let format: OSType
        let bytesPerSample: Int
        let planes: [[UInt8]]
        let color: [Int]
    }

    private static let red10: [[UInt8]] = [[0, 81], [0, 90, 0, 240]]

    private static let cases: [Case] = [
        Case(format: kCVPixelFormatType_32BGRA, bytesPerSample: 1, planes: [[0, 0, 255, 255]], color: [254, 0, 0]),
        Case(
            format: kCVPixelFormatType_420YpCbCr8BiPlanarFullRange,
            bytesPerSample: 1,
            planes: [[100], [128, 128]],
            color: [100, 100, 100]
        ),
        Case(format: kCVPixelFormatType_32RGBA, bytesPerSample: 1, planes: [[255, 0, 0, 255]], color: [254, 0, 0]),
        Case(format: kCVPixelFormatType_32ARGB, bytesPerSample: 1, planes: [[255, 255, 0, 0]], color: [254, 0, 0]),
        Case(format: kCVPixelFormatType_32ABGR, bytesPerSample: 1, planes: [[255, 0, 0, 255]], color: [254, 0, 0]),
        Case(
            format: kCVPixelFormatType_420YpCbCr8Planar,
            bytesPerSample: 1,
            planes: [[235], [128], [128]],
            color: [255, 255, 255]
        ),
        Case(
            format: kCVPixelFormatType_420YpCbCr8PlanarFullRange,
            bytesPerSample: 1,
            planes: [[100], [128], [128]],
            color: [100, 100, 100]
        ),
        Case(
            format: kCVPixelFormatType_420YpCbCr10BiPlanarFullRange,
            bytesPerSample: 2,
            planes: [[0, 100], [0, 128, 0, 128]],
            color: [100, 100, 100]
        ),
        Case(
            format: kCVPixelFormatType_420YpCbCr10BiPlanarVideoRange,
            bytesPerSample: 2,
            planes: red10,
            color: [255, 0, 0]
        ),
    ]

    /// Even and odd sizes, down to one pixel.
    private static let sizes = [(64, 48), (63, 47), (17, 2), (1, 1)]

    static func all(in directory: String) async throws {
        FileManager.standInContainers = ["group.a": directory]
        let server = try FrameServer(at: directory + "/rtc_SSFD")
        let (handler, host) = (Handler(), server.connections)
        handler.broadcastStarted(withSetupInfo: nil)
        var connections = host.makeAsyncIterator()
        guard let connection = try await connections.next() else { return expect(false, "nobody connected") }
        await eventually("it is not open") { handler.session?.uploader.connection.state == .connected }
        var frames = connection.frames.makeAsyncIterator()
        let decoder = FrameDecoder()
        for item in cases {
            for (width, height) in sizes {
                for padding in [0, 1, 50] {
                    let image = padded(item, width, height, padding)
                    handler.processSampleBuffer(CMSampleBuffer(standIn: image, time: time(1)), with: .video)
                    image.redraw()
                    guard let frame = try await frames.next() else { return expect(false, "no frame came") }
                    let name = "\(item.format) of \(width)x\(height) with a padding of \(padding)"
                    let decoded = try decoder.decode(frame, as: .rgb).image
                    expect(decoded.width == width && decoded.height == height, "\(name) has another size")
                    let furthest = decoded.withRow(height - 1) { row in
                        row.indices.map { abs(Int(row[$0]) - item.color[$0 % 3]) }.max() ?? 255
                    }
                    expect(furthest <= 3, "\(name) is off by \(furthest)")
                    await eventually("\(name) stays locked") { image.locks == 0 }
                }
            }
        }
        // Rows that are too short for 16-bit samples are refused.
        let short = CVBuffer(
            standIn: kCVPixelFormatType_420YpCbCr10BiPlanarFullRange,
            width: 16,
            height: 16,
            planes: [([UInt8](repeating: 0, count: 16 * 16), 16), ([UInt8](repeating: 0, count: 16 * 8), 16)]
        )
        handler.processSampleBuffer(CMSampleBuffer(standIn: short, time: time(2)), with: .video)
        expect(handler.session?.unreadableImages == 1, "rows without room for their samples were read")
        expect(short.locks == 0, "what cannot be read stays locked")
        handler.broadcastFinished()
        withExtendedLifetime(server) {}
    }

    private static func padded(_ item: Case, _ width: Int, _ height: Int, _ padding: Int) -> CVBuffer {
        let isPlanar = item.planes.count > 1
        let planes = item.planes.enumerated().map { index, sample in
            let columns = index == 0 ? width : (width + 1) / 2
            let rows = index == 0 ? height : (height + 1) / 2
            let visible = Array(repeating: sample, count: columns).flatMap(\.self)
            // Whole samples: rows of 16-bit samples begin at even addresses.
            let row = visible + [UInt8](repeating: 0xAA, count: padding * item.bytesPerSample * (isPlanar ? 1 : 4))
            return (Array(repeating: row, count: rows).flatMap(\.self), row.count)
        }
        return CVBuffer(standIn: item.format, width: width, height: height, planes: planes)
    }
}
