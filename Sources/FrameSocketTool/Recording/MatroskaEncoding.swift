internal import CZlib

/// What was done to the frames of a track when they were put into a Matroska file: compression or encryption (RFC 9559, 5.1.4.1.31).
struct MatroskaEncoding {
    /// Its place among several; the greatest is undone first.
    var order: UInt64 = 0
    /// What it covers: 1 for frames, 2 for what belongs to the codec.
    var scope: UInt64 = 1
    /// 1 is encryption.
    var type: UInt64 = 0
    /// Of the compression; nil if none is described, in which case nothing was done.
    var algorithm: UInt64?
    /// The bytes at the beginning of every frame that the file contains only once.
    var settings: [UInt8] = []

    var coversFrames: Bool { scope & 1 != 0 }
    var coversPrivate: Bool { scope & 2 != 0 }

    /// Why frames cannot be read; nil if they can.
    var obstacle: String? {
        guard coversFrames else { return nil }
        guard type == 0 else { return "encrypted" }
        switch algorithm {
        case nil, 0, 3: return nil
        case 1: return "compressed with bzlib"
        case 2: return "compressed with lzo1x"
        case let other?: return "compressed with algorithm \(other)"
        }
    }

    /// Undoes it; nil if that is impossible.
    func decode(_ bytes: [UInt8]) -> [UInt8]? {
        switch (type, algorithm) {
        case (0, 0): Self.inflate(bytes)
        case (0, 3): settings + bytes
        case (0, nil): bytes
        default: nil
        }
    }

    /// What a zlib stream contains; nil if it is damaged, or more than a frame can be.
    private static func inflate(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = unsafe z_stream()
        guard unsafe inflateInit_(&stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
        defer { unsafe inflateEnd(&stream) }
        var bytes = bytes
        var result: [UInt8] = []
        var room = [UInt8](repeating: 0, count: Files.pipeCapacity)
        return unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            unsafe (stream.next_in, stream.avail_in) = (bytes.baseAddress, UInt32(clamping: bytes.count))
            while result.count <= MatroskaReader.maximumFrameLength {
                let (status, count) = unsafe room.withUnsafeMutableBufferPointer { room in
                    unsafe (stream.next_out, stream.avail_out) = (room.baseAddress, UInt32(clamping: room.count))
                    let status = unsafe CZlib.inflate(&stream, Z_NO_FLUSH)
                    return unsafe (status, room.count - Int(stream.avail_out))
                }
                result += room[..<count]
                if status == Z_STREAM_END { return result }
                // Without an end, and nothing left to read.
                guard status == Z_OK, count > 0 else { return nil }
            }
            return nil
        }
    }
}
