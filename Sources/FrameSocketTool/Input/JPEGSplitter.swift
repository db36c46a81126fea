/// Splits a stream of JPEGs, one after another, into single ones.
///
/// Accepts chunks of any size.
///
/// It follows the markers, so that a thumbnail within an image does not end it. Whatever separates two images, such as
/// the headers of a multipart stream, is skipped.
struct JPEGSplitter {
    /// The maximum size of one JPEG in bytes.
    static let maximumByteCount = 32 << 20

    private enum State {
        /// Before an image; whether the last byte was FF.
        case between(afterFF: Bool)
        /// Where a marker is expected.
        case marker
        /// After a marker's FF.
        case code
        /// In a segment: its marker, and the bytes of its length that have been read.
        case length(code: UInt8, high: UInt8?)
        case segment(code: UInt8, left: Int)
        /// In coded data; whether the last byte was FF.
        case scan(afterFF: Bool)
    }

    private var state = State.between(afterFF: false)
    private var image: [UInt8] = []

    /// Whether the stream has stopped within an image.
    var isInImage: Bool { if case .between = state { false } else { true } }

    /// Consumes one byte; returns the image if that was its last.
    ///
    /// An image that is malformed or becomes too large is given up, and the search for the next one continues.
    mutating func take(_ byte: UInt8) -> [UInt8]? {
        if isInImage {
            image.append(byte)
            if image.count > Self.maximumByteCount { giveUp() }
        }
        switch state {
        case .between(let afterFF):
            guard afterFF, byte == 0xD8 else {
                state = .between(afterFF: byte == 0xFF)
                return nil
            }
            image = [0xFF, 0xD8]
            state = .marker
        case .marker:
            if byte == 0xFF { state = .code } else { giveUp() }
        case .code:
            return begin(byte)
        case .length(let code, let high):
            guard let high else {
                state = .length(code: code, high: byte)
                return nil
            }
            let left = Int(high) << 8 + Int(byte) - 2
            if left < 0 { giveUp() } else { enter(code, left) }
        case .segment(let code, let left):
            enter(code, left - 1)
        case .scan(let afterFF):
            // FF 00 is a byte of data, FF D0 to FF D7 restart the decoder; another marker ends the data.
            guard afterFF, byte != 0, !(0xD0...0xD7).contains(byte) else {
                state = .scan(afterFF: byte == 0xFF)
                return nil
            }
            return byte == 0xFF ? nil : begin(byte)
        }
        return nil
    }

    /// Handles the marker `code`; returns the image if the marker is its last.
    private mutating func begin(_ code: UInt8) -> [UInt8]? {
        switch code {
        case 0xFF:
            state = .code
        case 0xD9:
            state = .between(afterFF: false)
            defer { image = [] }
            return image
        case 0x01, 0xD0...0xD7:
            state = .marker
        case 0xD8:
            // The image before it was cut off.
            (image, state) = ([0xFF, 0xD8], .marker)
        case 0x00:
            giveUp()
        default:
            state = .length(code: code, high: nil)
        }
        return nil
    }

    private mutating func enter(_ code: UInt8, _ left: Int) {
        if left > 0 {
            state = .segment(code: code, left: left)
        } else {
            state = code == 0xDA ? .scan(afterFF: false) : .marker
        }
    }

    private mutating func giveUp() {
        image = []
        state = .between(afterFF: false)
    }
}
