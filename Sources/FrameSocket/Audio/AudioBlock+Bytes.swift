extension AudioBlock {
    /// The number of bytes that the samples occupy on the wire.
    public var byteCount: Int { samples.count * 2 }

    /// Creates a block from interleaved 16-bit little-endian samples.
    ///
    /// - Throws: ``AudioError`` with `incompleteFrame` if the bytes are not a whole number of frames.
    public init(
        format: AudioBlock.Format,
        timestamp: UInt64? = nil,
        littleEndian bytes: Span<UInt8>
    ) throws(AudioError) {
        guard bytes.count.isMultiple(of: format.channels * 2) else {
            throw AudioError(
                .incompleteFrame,
                "\(bytes.count) bytes are not a whole number of \(format.channels * 2)-byte frames"
            )
        }
        let count = bytes.count / 2
        let samples = [Int16](capacity: count) { output in
            unsafe bytes.withUnsafeBytes { source in
                for index in 0..<count {
                    let sample = unsafe source.loadUnaligned(fromByteOffset: index * 2, as: Int16.self)
                    output.append(Int16(littleEndian: sample))
                }
            }
        }
        self.init(format: format, timestamp: timestamp, wholeFrames: samples)
    }

    /// Appends the samples to `output` as 16-bit little-endian values.
    ///
    /// - Throws: ``AudioError`` with `outputTooSmall` if there is no room for all ``byteCount`` bytes; in that case
    ///   nothing is written.
    public func write(littleEndianTo output: inout OutputSpan<UInt8>) throws(AudioError) {
        guard output.freeCapacity >= byteCount else {
            throw AudioError(
                .outputTooSmall,
                "the output has room for \(output.freeCapacity) bytes; the audio has \(byteCount)"
            )
        }
        unsafe output.withUnsafeMutableBufferPointer { buffer, count in
            guard let base = buffer.baseAddress else { return }
            let target = unsafe UnsafeMutableRawPointer(base + count)
            unsafe samples.withUnsafeBufferPointer { samples in
                for index in samples.indices {
                    unsafe target.storeBytes(of: samples[index].littleEndian, toByteOffset: index * 2, as: Int16.self)
                }
            }
            count += byteCount
        }
    }
}
