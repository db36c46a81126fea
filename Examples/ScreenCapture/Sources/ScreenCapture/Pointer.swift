import CXCB
import Foundation
import FrameSocket

/// The mouse pointer: its image, and where it is on the display.
struct Pointer: Equatable {
    let place: PixelBuffer.Rectangle
    /// A number that is another one if the image is.
    let serial: UInt32
    /// Alpha, red, green and blue, from the highest byte to the lowest; the colors are multiplied by alpha already.
    private let pixels: [UInt32]

    static func == (one: Pointer, other: Pointer) -> Bool { (one.place, one.serial) == (other.place, other.serial) }

    /// Reads the answer of the server; nil if there is none.
    init?(_ connection: OpaquePointer, _ cookie: xcb_xfixes_get_cursor_image_cookie_t) {
        guard let reply = xcb_xfixes_get_cursor_image_reply(connection, cookie, nil) else { return nil }
        defer { free(reply) }
        let (image, count) = (reply.pointee, Int(xcb_xfixes_get_cursor_image_cursor_image_length(reply)))
        place = .init(Int(image.x) - Int(image.xhot), Int(image.y) - Int(image.yhot), image.width, image.height)
        serial = image.cursor_serial
        pixels = Array(UnsafeBufferPointer(start: xcb_xfixes_get_cursor_image_cursor_image(reply), count: count))
    }

    /// Draws the part that lies in one row, of which the first pixel is at a place of the display, over its pixels: blue,
    /// green, red and a byte without meaning.
    func draw(on row: UnsafeMutableRawBufferPointer, at start: (x: Int, y: Int)) {
        let part = PixelBuffer.Rectangle(start.x, start.y, row.count / 4, 1).intersection(place)
        guard part.width > 0, part.height > 0 else { return }
        for x in part.x..<part.right {
            let pixel = pixels[(part.y - place.y) * place.width + x - place.x]
            let rest = 255 - pixel >> 24
            for channel in 0..<3 {
                let index = 4 * (x - start.x) + channel
                let blended = pixel >> UInt32(8 * channel) & 255 + (UInt32(row[index]) * rest + 127) / 255
                row[index] = UInt8(min(blended, 255))
            }
        }
    }
}
