/// A frame whose pixels are in a shared buffer: which one, where in it, and what a frame's header states.
///
/// From this message until its request `release` the buffer belongs to the receiver. The message has no body.
public struct SharedFrameHeader: Sendable, Hashable {
    /// The position of a plane in its buffer.
    package struct Plane: Sendable, Hashable {
        /// The offset of the first sample in bytes: the field `Shared-Offset`, `Shared-Offset-2` or `Shared-Offset-3`.
        package var offset: Int

        /// The distance between two rows in bytes: the field `Shared-Stride`, `Shared-Stride-2` or `Shared-Stride-3`.
        package var bytesPerRow: Int

        /// Creates a position without checking the values.
        package init(offset: Int, bytesPerRow: Int) {
            (self.offset, self.bytesPerRow) = (offset, bytesPerRow)
        }
    }

    /// The index of the buffer: the field `Shared-Buffer`.
    package var buffer: Int

    /// The arrangement of the bytes: the field `Shared-Format`.
    package var format: PixelFormat

    /// What the header states of the frame.
    package var info: FrameInfo

    /// The position of each of the format's planes.
    package var planes: [Plane]

    /// The rows that may differ from the sender's previous frame in shared memory on the same connection; nil if any row
    /// may: the fields `Changed-Row` (the first) and `Changed-Rows` (their number), each at most 65,535.
    ///
    /// An empty range states that nothing has changed. A range beyond the image ends with the image.
    package var changedRows: Range<Int>?

    /// Creates a header without checking the values; a decoder may reject them.
    package init(buffer: Int, format: PixelFormat, info: FrameInfo, planes: [Plane], changedRows: Range<Int>? = nil) {
        (self.buffer, self.format, self.info) = (buffer, format, info)
        (self.planes, self.changedRows) = (planes, changedRows)
    }

    /// The header that the same frame would have as a JPEG, with an empty body.
    package var header: FrameHeader { FrameHeader(contentLength: 0, info: info) }

    /// Returns whether there is one position for each plane, and every sample is within a buffer of `byteCount` bytes.
    ///
    /// Every row but a plane's last must have all of its `bytesPerRow`. Planes may overlap: the receiver only
    /// reads them.
    package func fits(inBufferOf byteCount: Int) -> Bool {
        let size = info.bufferSize
        guard planes.count == format.planeCount, size.width > 0, size.height > 0 else { return false }
        return planes.indices.allSatisfy { index in
            let plane = planes[index]
            guard let (visible, rows) = format.shape(ofPlane: index, in: size),
                plane.offset >= 0, plane.bytesPerRow >= visible
            else { return false }
            let (stretch, overflows) = plane.bytesPerRow.multipliedReportingOverflow(by: rows - 1)
            let (byteCountOfPlane, overflowsToo) = stretch.addingReportingOverflow(visible)
            guard !overflows, !overflowsToo, byteCountOfPlane <= byteCount else { return false }
            // By subtraction: the sum of offset and size could overflow.
            return plane.offset <= byteCount - byteCountOfPlane
        }
    }
}

extension SharedFrameHeader: WireMessage {
    private static let positions: [(offset: HeaderField, stride: HeaderField)] = [
        (.offset, .stride), (.secondOffset, .secondStride), (.thirdOffset, .thirdStride),
    ]

    package mutating func code(with coder: inout some FieldCoder) {
        coder.begin(.sharedFrame)
        coder.code(.sharedBuffer, &buffer)
        info.codeImage(with: &coder)
        coder.code(.sharedFormat, &format)
        // None are there before they are read.
        let given = planes
        for place in 0..<min(given.isEmpty ? format.planeCount : given.count, Self.positions.count) {
            var plane = given.isEmpty ? Plane(offset: 0, bytesPerRow: 0) : given[place]
            coder.code(Self.positions[place].offset, &plane.offset)
            coder.code(Self.positions[place].stride, &plane.bytesPerRow)
            if given.isEmpty { planes.append(plane) }
        }
        // Clamped first: the number of rows of an extreme range is not an integer.
        var rows = changedRows.map { $0.clamped(to: 0..<Int.max) }.map { ($0.lowerBound, $0.count) }
        coder.code(.changedRow, .changedRows, &rows)
        changedRows = rows.map { first, count in first..<(first + count) }
        info.codeTiming(with: &coder)
    }
}

extension SharedFrameHeader {
    /// The announcement of a buffer in shared memory, whose descriptor arrives with the first byte of the message.
    ///
    /// A sender writes such messages only to a receiver whose hello accepts shared memory; see
    /// ``ControlRequest/Hello/sharedMemory``. The message has no body.
    public struct Buffer: Sendable, Hashable {
        /// The indices that a message can state: 0 to 7.
        package static let indices = 0...7

        /// The sizes that a message can state, in bytes: 1 to 2^30.
        package static let byteCounts = 1...(1 << 30)

        /// The offsets of planes that a message can state, in bytes: 0 to 2^30.
        static let offsets = 0...(1 << 30)

        /// The buffer's index, by which frames refer to it: the field `Shared-Buffer`.
        package var index: Int

        /// The size of the memory in bytes: the field `Shared-Bytes`.
        package var byteCount: Int

        /// Creates an announcement without checking the values; a decoder may reject them.
        package init(index: Int, byteCount: Int) {
            (self.index, self.byteCount) = (index, byteCount)
        }
    }
}

extension SharedFrameHeader.Buffer: WireMessage {
    package mutating func code(with coder: inout some FieldCoder) {
        coder.begin(.sharedBuffer)
        coder.code(.sharedBuffer, &index)
        coder.code(.sharedBytes, &byteCount)
    }
}

extension PixelFormat {
    /// Returns the bytes of a buffer that a plane takes, from its first sample to its last, for a header that fits.
    package func range(of plane: SharedFrameHeader.Plane, _ index: Int, _ size: BufferSize) -> Range<Int> {
        guard let (visible, rows) = shape(ofPlane: index, in: size) else { return 0..<0 }
        return plane.offset..<(plane.offset + (rows - 1) * plane.bytesPerRow + visible)
    }

    /// Returns the number of visible bytes in a row of a plane, and the number of rows; nil if a row has more bytes than
    /// an integer can state.
    func shape(ofPlane plane: Int, in size: BufferSize) -> (bytesPerRow: Int, rows: Int)? {
        let columns = planeWidth(plane, width: size.width)
        let (bytesPerRow, overflows) = columns.multipliedReportingOverflow(by: bytesPerSample(plane: plane))
        return overflows ? nil : (bytesPerRow, planeHeight(plane, height: size.height))
    }
}
