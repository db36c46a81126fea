import CBaseline
import FrameSocket

/// Owns a codec of the baseline.
///
/// - Note: `@unchecked Sendable` holds because one side of one case uses it at a time.
@safe final class BaselineCodec: @unchecked Sendable {
    private let codec: OpaquePointer

    init(for images: ImageSequence) {
        unsafe codec = baseline_codec_create(Int32(images.width), Int32(images.height))
    }

    deinit {
        unsafe baseline_codec_destroy(codec)
    }

    func encode(_ image: PixelBuffer) throws {
        let bytesPerRow = Int32(image.plane(0).bytesPerRow)
        let bytes = unsafe image.withUnsafePlanes { planes in
            unsafe baseline_encode(codec, planes[0].base, bytesPerRow, 80)
        }
        guard bytes > 0 else { throw BaselineFailure() }
    }

    func decode(_ jpeg: [UInt8]) throws {
        guard unsafe baseline_decode(codec, jpeg, jpeg.count) == 0 else { throw BaselineFailure() }
    }

    /// Sends images, and returns when the first one started.
    func send(_ images: ImageSequence, frames: Int, interval: UInt64, to socket: Int32) throws -> Int64 {
        let start = unsafe images.withBaseline {
            unsafe baseline_send_images(socket, codec, $0, Int32(frames), Int64(interval))
        }
        guard start >= 0 else { throw BaselineFailure() }
        return start
    }

    /// Receives images, and returns the age of each.
    func receive(frames: Int, from socket: Int32) throws -> [Int64] {
        var latencies = [Int64](repeating: 0, count: frames)
        guard unsafe baseline_receive_images(socket, codec, Int32(frames), &latencies) == 0 else {
            throw BaselineFailure()
        }
        return latencies
    }

    /// Sends images from a thread to this one, which has `receiver`.
    func send(_ images: ImageSequence, frames: Int, to receiver: BaselineCodec) throws {
        let status = unsafe images.withBaseline {
            unsafe baseline_end_to_end(codec, receiver.codec, $0, Int32(frames))
        }
        guard status == 0 else { throw BaselineFailure() }
    }
}
