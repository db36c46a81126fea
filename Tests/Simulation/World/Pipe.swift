/// The bytes on their way from one socket to another: a ring, of which the reader sees the front part.
@safe struct Pipe {
    private var ring: [UInt8] = []
    private var first = 0
    /// Bytes written and not yet read.
    private(set) var count = 0
    /// Of these, those that have arrived.
    private(set) var visible = 0
    /// The place of the next byte in the stream.
    private(set) var position = 0

    mutating func removeAll() {
        (first, count, visible, position) = (0, 0, 0, 0)
    }

    /// Loses what has not arrived.
    mutating func dropInvisible() {
        count = visible
    }

    /// Makes up to `bytes` more visible.
    mutating func show(_ bytes: Int) {
        visible = min(count, visible + bytes)
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) {
        grow(to: count + bytes.count)
        var end = first + count
        if end >= ring.count { end -= ring.count }
        let front = min(bytes.count, ring.count - end)
        unsafe ring.withUnsafeMutableBytes { ring in
            unsafe UnsafeMutableRawBufferPointer(rebasing: ring[end..<end + front])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<front]))
            guard front < bytes.count else { return }
            unsafe UnsafeMutableRawBufferPointer(rebasing: ring[..<(bytes.count - front)])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[front...]))
        }
        count += bytes.count
    }

    /// Takes visible bytes out, as many as fit; returns how many.
    mutating func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        let amount = min(target.count, visible)
        guard amount > 0 else { return 0 }
        let front = min(amount, ring.count - first)
        unsafe ring.withUnsafeBytes { ring in
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: ring[first..<first + front]))
            guard front < amount else { return }
            unsafe UnsafeMutableRawBufferPointer(rebasing: target[front..<amount])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: ring[..<(amount - front)]))
        }
        skip(amount)
        return amount
    }

    /// Drops visible bytes.
    mutating func skip(_ bytes: Int) {
        let amount = min(bytes, visible)
        first += amount
        if first >= ring.count { first -= ring.count }
        count -= amount
        visible -= amount
        position += amount
        if count == 0 { first = 0 }
    }

    private mutating func grow(to needed: Int) {
        guard needed > ring.count else { return }
        var size = max(4096, ring.count)
        while size < needed { size *= 2 }
        var larger = [UInt8](repeating: 0, count: size)
        if count > 0 {
            let front = min(count, ring.count - first)
            larger.replaceSubrange(0..<front, with: ring[first..<first + front])
            if front < count { larger.replaceSubrange(front..<count, with: ring[0..<count - front]) }
        }
        // The replacements above keep the size: they put in as many bytes as they take out.
        ring = larger
        first = 0
    }
}
