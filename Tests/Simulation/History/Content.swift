internal import Foundation
internal import FrameTransport
internal import FrameWire

/// The bytes of frames and audio: they say whose they are and which one, so that a receiver can check them.
@safe enum Content {
    /// The bytes at the beginning of a body: sender, kind, number, length, content.
    static let headerByteCount = 16

    /// Who sent a body, and which of its bodies it is.
    struct Identity: Equatable {
        var sender: UInt16
        var isAudio = false
        var number: UInt32
        var length: UInt32
        /// What the image shows; two frames with the same content are unchanged.
        var content: UInt32
        /// Whether it is an image, and not the bytes of a JPEG or of audio.
        var isImage = false
    }

    private static let patternByteCount = 1 << 17

    /// - Note: `nonisolated(unsafe)` holds because nobody writes to it after it is made.
    private nonisolated(unsafe) static let pattern: UnsafeRawBufferPointer = {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: patternByteCount, alignment: 16)
        var random = Random(seed: 42)
        for index in 0..<patternByteCount {
            unsafe memory.storeBytes(of: random.next(), toByteOffset: index & ~7, as: UInt64.self)
        }
        return UnsafeRawBufferPointer(memory)
    }()

    /// The pattern behind the header; different for any two bodies that are likely to be confused.
    private static func pattern(of identity: Identity, count: Int) -> UnsafeRawBufferPointer {
        let mixed = (UInt64(identity.sender) << 32 | UInt64(identity.number)) &* 0x9e37_79b9_7f4a_7c15
        let start = Int(mixed >> 48) & 0xffff
        return unsafe UnsafeRawBufferPointer(rebasing: pattern[start..<start + count])
    }

    /// The body of a frame or of audio.
    static func bytes(_ identity: Identity) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: Int(identity.length)) { unsafe write(identity, $0, &$1) }
    }

    static func bytes(_ identity: Identity, pool: FrameBytes.Pool) -> FrameBytes {
        FrameBytes(capacity: Int(identity.length), pool: pool) { output in
            unsafe output.withUnsafeMutableBufferPointer { unsafe write(identity, $0, &$1) }
        }
    }

    private static func write(_ identity: Identity, _ buffer: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int) {
        let memory = UnsafeMutableRawBufferPointer(buffer)
        unsafe header(of: identity) { unsafe memory.copyMemory(from: $0) }
        count = headerByteCount
        while count < Int(identity.length) {
            let part = min(Int(identity.length) - count, 1 << 16)
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + part])
            unsafe target.copyMemory(from: pattern(of: identity, count: part))
            count += part
        }
    }

    static func header(of identity: Identity, _ body: (UnsafeRawBufferPointer) -> Void) {
        var words = (
            UInt32(identity.sender) | (identity.isAudio ? 1 << 16 : 0) | (identity.isImage ? 0x4649 : 0x4653) << 17,
            identity.number,
            identity.length, identity.content
        )
        unsafe withUnsafeBytes(of: &words) { unsafe body($0) }
    }

    /// Whose body begins with these bytes; nil if it is nobody's.
    static func header(_ bytes: [UInt8]) -> Identity? {
        guard bytes.count >= headerByteCount else { return nil }
        return unsafe bytes.withUnsafeBytes { unsafe header($0) }
    }

    static func header(_ memory: UnsafeRawBufferPointer) -> Identity? {
        let first = unsafe memory.loadUnaligned(as: UInt32.self)
        guard first >> 17 == 0x4653 || first >> 17 == 0x4649 else { return nil }
        return unsafe Identity(
            sender: UInt16(truncatingIfNeeded: first),
            isAudio: first & 1 << 16 != 0,
            number: memory.loadUnaligned(fromByteOffset: 4, as: UInt32.self),
            length: memory.loadUnaligned(fromByteOffset: 8, as: UInt32.self),
            content: memory.loadUnaligned(fromByteOffset: 12, as: UInt32.self),
            isImage: first >> 17 == 0x4649
        )
    }

    /// Whose body this is; nil if it is nobody's, or not whole.
    static func identify(_ bytes: Span<UInt8>) -> Identity? {
        guard bytes.count >= headerByteCount else { return nil }
        return unsafe bytes.withUnsafeBytes { memory in
            guard let identity = unsafe header(memory), !identity.isImage else { return nil }
            let length = Int(identity.length)
            guard length >= headerByteCount, length <= bytes.count else { return nil }
            var offset = headerByteCount
            while offset < length {
                let part = min(length - offset, 1 << 16)
                let expected = unsafe pattern(of: identity, count: part)
                guard unsafe equal(memory, offset, expected) else { return nil }
                offset += part
            }
            return identity
        }
    }

    /// Returns a row of an image, which four contents have in common.
    static func imageRow(_ identity: Identity, _ row: Int, count: Int) -> UnsafeRawBufferPointer {
        let mixed = (UInt64(identity.sender) << 32 | UInt64(identity.content >> 2)) &* 0x9e37_79b9_7f4a_7c15
        let start = (Int(mixed >> 48) &+ row &* 311) & 0xffff
        return unsafe UnsafeRawBufferPointer(rebasing: pattern[start..<(start + count)])
    }

    static func equal(
        _ memory: UnsafeRawBufferPointer,
        _ offset: Int,
        _ expected: UnsafeRawBufferPointer
    ) -> Bool {
        guard let memory = memory.baseAddress, let start = expected.baseAddress else { return true }
        return unsafe memcmp(memory + offset, start, expected.count) == 0
    }
}
