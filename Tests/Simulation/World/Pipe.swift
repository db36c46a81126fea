/// The bytes on their way from one socket to another, of which the reader sees the front part.
@safe struct Pipe {
    private var bytes: [UInt8] = []
    /// How many of them have been read.
    private var first = 0
    /// Of the others, those that have arrived.
    private(set) var visible = 0
    /// The place of the next byte in the stream.
    private(set) var position = 0

    /// Bytes written and not yet read.
    var count: Int { bytes.count - first }

    /// Loses what has not arrived.
    mutating func dropInvisible() {
        bytes.removeLast(count - visible)
    }

    /// Makes up to `amount` more visible.
    mutating func show(_ amount: Int) {
        visible = min(count, visible + amount)
    }

    mutating func write(_ run: UnsafeRawBufferPointer) {
        unsafe bytes.append(contentsOf: run.assumingMemoryBound(to: UInt8.self))
    }

    /// Takes visible bytes out, as many as fit; returns how many.
    mutating func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        let amount = min(target.count, visible)
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[first..<first + amount]))
        }
        (first, visible, position) = (first + amount, visible - amount, position + amount)
        if first > bytes.count / 2 {
            bytes.removeFirst(first)
            first = 0
        }
        return amount
    }
}
