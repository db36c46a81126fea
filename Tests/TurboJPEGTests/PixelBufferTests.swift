import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct PixelBufferTests {
    @Test(arguments: PixelFormat.allCases, sizes)
    func `planes have their shape`(format: PixelFormat, size: (Int, Int)) throws {
        let buffer = try PixelBuffer(width: size.0, height: size.1, format: format, zeroFilled: true)
        #expect(buffer.planeCount == format.planeCount)
        for index in 0..<buffer.planeCount {
            let plane = buffer.plane(index)
            #expect(plane.width == (index == 0 ? size.0 : (size.0 + 1) / 2))
            #expect(plane.height == (index == 0 ? size.1 : (size.1 + 1) / 2))
            #expect(plane.bytesPerRow.isMultiple(of: 64))
            #expect(plane.bytesPerRow >= plane.visibleBytesPerRow)
            let bytes = buffer.bytes(ofPlane: index)
            #expect(bytes.count == plane.byteCount)
            #expect(bytes.allSatisfy { $0 == 0 })
        }
    }

    @Test func `memory that cannot be allocated is an error`() {
        let code = errorCode { () throws(TurboJPEGError) in
            _ = try PixelBuffer(width: 1, height: 65_500, format: .gray, bytesPerRow: Int(Int32.max) - 1)
        }
        #expect(code == .allocationFailed)
    }

    @Test func `changing a copy leaves the original alone`() throws {
        let original = try testImage(20, 10, as: .bgra)
        let before = original.bytes()
        var copy = original
        try copy.withMutableRow(3) { $0[5] = 77 }
        #expect(copy.row(3)[5] == 77)
        #expect(original.bytes() == before)
        #expect(!copy.hasSamePixels(as: original))
        let address = copy.address
        try copy.withMutableRow(3) { $0[5] = 78 }
        #expect(copy.address == address, "not shared: changed in place")
        #expect(address.isMultiple(of: 64))
    }

    @Test(arguments: PixelFormat.allCases)
    func `cropping shares memory`(format: PixelFormat) throws {
        let whole = try testImage(21, 13, as: format)
        let part = try whole.cropped(toWidth: 9, height: 5)
        #expect((part.width, part.height) == (9, 5))
        for plane in 0..<part.planeCount {
            #expect(part.plane(plane).bytesPerRow == whole.plane(plane).bytesPerRow)
            let visible = part.plane(plane).visibleBytesPerRow
            for y in 0..<part.plane(plane).height {
                #expect(part.row(y, ofPlane: plane) == Array(whole.row(y, ofPlane: plane).prefix(visible)))
            }
        }
        let address = whole.address
        #expect(part.address == address)

        var changed = part
        try changed.fill(1)
        #expect(whole.hasSamePixels(as: try testImage(21, 13, as: format)))
    }

    @Test(arguments: [(0, 5), (5, 0), (22, 5), (5, 14), (.max, .max)])
    func `cropping outside of the image is refused`(width: Int, height: Int) throws {
        let whole = try testImage(21, 13)
        let code = errorCode { () throws(TurboJPEGError) in _ = try whole.cropped(toWidth: width, height: height) }
        #expect(code == .invalidSize)
    }

    @Test(arguments: PixelFormat.allCases, sizes.dropLast())
    func `raw bytes are read and written unchanged`(format: PixelFormat, size: (Int, Int)) throws {
        let image = try testImage(size.0, size.1, as: format)
        let chroma = (size.0 + 1) / 2 * ((size.1 + 1) / 2) * 2
        #expect(image.packedByteCount == size.0 * size.1 * format.bytesPerPixel + (format.isPlanar ? chroma : 0))
        let bytes = try packed(image)
        let again = try PixelBuffer(copying: bytes.span, width: size.0, height: size.1, format: format)
        #expect(again.hasSamePixels(as: image))
        for wrong in [Array(bytes.dropLast()), bytes + [0]] {
            let code = errorCode { () throws(TurboJPEGError) in
                _ = try PixelBuffer(copying: wrong.span, width: size.0, height: size.1, format: format)
            }
            #expect(code == .byteCountMismatch)
        }
    }

    @Test(arguments: PixelFormat.allCases)
    func `raw bytes may have padding`(format: PixelFormat) throws {
        let stride = 23 * format.bytesPerPixel + 5
        let image = try testImage(23, 11, as: format, bytesPerRow: stride)
        let tight = try testImage(23, 11, as: format)
        #expect(image.plane(0).bytesPerRow == stride)
        var bytes: [UInt8] = []
        for plane in 0..<image.planeCount {
            let shape = image.plane(plane)
            for y in 0..<shape.height {
                let padding = [UInt8](repeating: 0xA5, count: shape.bytesPerRow - shape.visibleBytesPerRow)
                bytes += image.row(y, ofPlane: plane) + padding
            }
        }
        let last = image.plane(image.planeCount - 1)
        for cut in [0, last.bytesPerRow - last.visibleBytesPerRow] {
            let given = Array(bytes.dropLast(cut))
            let copy = try PixelBuffer(copying: given.span, width: 23, height: 11, format: format, bytesPerRow: stride)
            #expect(copy.hasSamePixels(as: tight))
        }
        #expect(try packed(image) == packed(tight))
    }

    @Test func `output with too little room is left alone`() throws {
        let image = try testImage(4, 4)
        let bytes = [UInt8](capacity: image.packedByteCount) { output in
            output.append(9)
            let code = errorCode { () throws(TurboJPEGError) in try image.copyPacked(into: &output) }
            #expect(code == .bufferTooSmall)
        }
        #expect(bytes == [9])
    }

    @Test func `adopted memory is read in place, never written, and released once`() throws {
        let releases = Counter()
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 24)
        unsafe memory.initialize(repeating: 7, count: 24)
        do {
            var image = try unsafe PixelBuffer(
                adopting: [(UnsafePointer(memory), 12)],
                width: 3,
                height: 2,
                format: .bgra
            ) { releases.increment() }
            #expect(image.address == UInt(bitPattern: memory))
            let copy = image
            try image.withMutableRow(0) { $0[0] = 1 }
            #expect(unsafe memory[0] == 7)
            #expect(image.row(0)[0] == 1)
            #expect(copy.row(0)[0] == 7)
            #expect(releases.value == 0)
        }
        #expect(releases.value == 1)
        unsafe memory.deallocate()
    }

    private func packed(_ image: PixelBuffer) throws -> [UInt8] {
        try [UInt8](capacity: image.packedByteCount) { output in try image.copyPacked(into: &output) }
    }
}
