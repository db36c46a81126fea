internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// The pixels of images: they say whose they are and which one, and most of their rows stay from one to the next.
///
/// An image is gray and at least 16 pixels wide. Its first row begins with the identity; another row, which depends on
/// the number, begins with it too. Everything else depends on the content alone, of which four in a row are alike.
@safe enum ImageContent {
    /// The size of an image for which a frame of so many bytes was asked.
    static func size(length: Int) -> BufferSize {
        let width = length > 4_096 ? 256 : 64
        return BufferSize(width: width, height: max(2, length / width & ~1))
    }

    private static func markedRow(_ number: UInt32, _ height: Int) -> Int { Int(number) % height }

    /// Returns the rows in which two images of a size differ; nil if in any.
    static func changedRows(
        from old: (number: UInt32, content: UInt32),
        to new: (number: UInt32, content: UInt32),
        of size: BufferSize
    ) -> Set<Int>? {
        guard old.content >> 2 == new.content >> 2 else { return nil }
        return [0, markedRow(old.number, size.height), markedRow(new.number, size.height)]
    }

    /// Returns an image of a size, in memory of its own.
    static func image(_ identity: Content.Identity, _ size: BufferSize) -> PixelBuffer? {
        guard var image = try? PixelBuffer(width: size.width, height: size.height, format: .gray) else { return nil }
        let identity = Content.Identity(
            sender: identity.sender,
            number: identity.number,
            length: UInt32(image.width * image.height),
            content: identity.content,
            isImage: true
        )
        let (width, height) = (image.width, image.height)
        try? unsafe image.withUnsafeMutablePlanes { planes in
            let plane = unsafe planes[0]
            for row in 0..<height {
                let memory = unsafe UnsafeMutableRawBufferPointer(
                    start: plane.base + row * plane.shape.bytesPerRow,
                    count: width
                )
                unsafe memory.copyMemory(from: Content.imageRow(identity, row, count: width))
                guard row == 0 || row == markedRow(identity.number, height) else { continue }
                unsafe Content.header(of: identity) { unsafe memory.copyMemory(from: $0) }
            }
        }
        return image
    }

    /// Whose image this is; nil if it is nobody's, or not whole.
    static func identify(_ image: PixelBuffer) -> Content.Identity? {
        let (width, height) = (image.width, image.height)
        return unsafe image.withUnsafePlanes { planes in
            let plane = unsafe planes[0]
            let count = unsafe (height - 1) * plane.shape.bytesPerRow + width
            return unsafe identify(
                UnsafeRawBufferPointer(start: plane.base, count: count),
                width,
                height,
                bytesPerRow: plane.shape.bytesPerRow
            )
        }
    }

    /// Whose image is in memory.
    static func identify(
        _ bytes: UnsafeRawBufferPointer,
        _ width: Int,
        _ height: Int,
        bytesPerRow: Int
    ) -> Content.Identity? {
        guard width >= Content.headerByteCount, height > 0, bytes.count >= (height - 1) * bytesPerRow + width,
            let identity = unsafe Content.header(UnsafeRawBufferPointer(rebasing: bytes[..<width])), identity.isImage,
            Int(identity.length) == width * height
        else { return nil }
        for row in 0..<height {
            let place = row * bytesPerRow..<row * bytesPerRow + width
            let memory = unsafe UnsafeRawBufferPointer(rebasing: bytes[place])
            var start = 0
            if row == 0 || row == markedRow(identity.number, height) {
                guard unsafe Content.header(memory) == identity else { return nil }
                start = Content.headerByteCount
            }
            let expected = unsafe UnsafeRawBufferPointer(
                rebasing: Content.imageRow(identity, row, count: width)[start...]
            )
            guard unsafe Content.equal(memory, start, expected) else { return nil }
        }
        return identity
    }
}

/// Where an image is in shared memory.
@safe struct SimImage {
    let memory: SharedMemory
    let header: SharedFrameHeader
    /// What it showed when it was delivered.
    var identity: Content.Identity?

    init(_ memory: SharedMemory, _ header: SharedFrameHeader) {
        (self.memory, self.header) = (memory, header)
        identity = Self.identify(memory, header)
    }

    /// Whether it still shows the same.
    var isUnchanged: Bool { Self.identify(memory, header) == identity }

    private static func identify(_ memory: SharedMemory, _ header: SharedFrameHeader) -> Content.Identity? {
        let byteCount = memory.byteCount
        guard header.format == .gray, let plane = header.planes.first, plane.offset < byteCount else { return nil }
        return unsafe ImageContent.identify(
            UnsafeRawBufferPointer(rebasing: memory.bytes[plane.offset...]),
            header.info.bufferSize.width,
            header.info.bufferSize.height,
            bytesPerRow: plane.bytesPerRow
        )
    }

    /// The rows that a receiver sees.
    func row(_ index: Int) -> UnsafeRawBufferPointer {
        let start = header.planes[0].offset + index * header.planes[0].bytesPerRow
        return unsafe UnsafeRawBufferPointer(rebasing: memory.bytes[start..<start + header.info.bufferSize.width])
    }
}
