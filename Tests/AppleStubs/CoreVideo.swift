// What FrameSocketApple uses of CoreVideo, over memory of its own; see README.md.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverUseImplicitlyUnwrappedOptionals

@_exported import CoreFoundation
import Synchronization

open class CVBuffer {
    let format: OSType
    let width: Int
    let height: Int
    let planes: [(memory: UnsafeMutableRawBufferPointer, bytesPerRow: Int)]
    private let lockCount = Atomic(0)

    /// A buffer with a copy of these planes.
    public init(standIn format: OSType, width: Int, height: Int, planes: [(bytes: [UInt8], bytesPerRow: Int)]) {
        (self.format, self.width, self.height) = (format, width, height)
        self.planes = planes.map { plane in
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: plane.bytes.count, alignment: 64)
            memory.copyBytes(from: plane.bytes)
            return (memory, plane.bytesPerRow)
        }
    }

    deinit {
        for plane in planes { plane.memory.deallocate() }
    }

    /// Whether it comes from a source that draws into it when nobody has it locked.
    var isOfSource = true

    /// What is attached to it.
    public var attachments: [CFString: CFTypeRef] = [:]

    /// Draws the next image into its memory, as a source does that has few buffers, locked or not.
    public func redraw() {
        for plane in planes { plane.memory.initializeMemory(as: UInt8.self, repeating: 0x55) }
    }

    /// How often it is locked now.
    public var locks: Int { lockCount.load(ordering: .acquiring) }

    func lock() {
        lockCount.add(1, ordering: .acquiringAndReleasing)
    }

    /// What is not locked is somebody else's: the next image lies there at once.
    func unlock() {
        if lockCount.subtract(1, ordering: .acquiringAndReleasing).newValue == 0, isOfSource {
            for plane in planes { plane.memory.initializeMemory(as: UInt8.self, repeating: 0xEE) }
        }
    }
}

public typealias CVImageBuffer = CVBuffer
public typealias CVPixelBuffer = CVImageBuffer
public typealias CVReturn = Int32
public typealias CVOptionFlags = UInt64

public var kCVReturnSuccess: CVReturn { 0 }
public var kCVPixelFormatType_32BGRA: OSType { 0x4247_5241 }
public var kCVPixelFormatType_32RGBA: OSType { 0x5247_4241 }
public var kCVPixelFormatType_32ARGB: OSType { 0x20 }
public var kCVPixelFormatType_32ABGR: OSType { 0x4142_4752 }
public var kCVPixelFormatType_420YpCbCr8Planar: OSType { 0x7934_3230 }
public var kCVPixelFormatType_420YpCbCr8PlanarFullRange: OSType { 0x6634_3230 }
public var kCVPixelFormatType_420YpCbCr10BiPlanarVideoRange: OSType { 0x7834_3230 }
public var kCVPixelFormatType_420YpCbCr10BiPlanarFullRange: OSType { 0x7866_3230 }
public var kCVPixelFormatType_420YpCbCr8BiPlanarFullRange: OSType { 0x3432_3066 }
public var kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange: OSType { 0x3432_3076 }

public struct CVPixelBufferLockFlags: OptionSet, Sendable {
    public let rawValue: CVOptionFlags
    public init(rawValue: CVOptionFlags) { self.rawValue = rawValue }
    public static let readOnly = CVPixelBufferLockFlags(rawValue: 1)
}

@discardableResult
public func CVPixelBufferLockBaseAddress(_ buffer: CVPixelBuffer, _ flags: CVPixelBufferLockFlags) -> CVReturn {
    buffer.lock()
    return kCVReturnSuccess
}

@discardableResult
public func CVPixelBufferUnlockBaseAddress(_ buffer: CVPixelBuffer, _ flags: CVPixelBufferLockFlags) -> CVReturn {
    buffer.unlock()
    return kCVReturnSuccess
}

public func CVPixelBufferGetPixelFormatType(_ buffer: CVPixelBuffer) -> OSType { buffer.format }
public func CVPixelBufferGetWidth(_ buffer: CVPixelBuffer) -> Int { buffer.width }
public func CVPixelBufferGetHeight(_ buffer: CVPixelBuffer) -> Int { buffer.height }

/// Null for a buffer of several planes, so that nobody relies on what the original gives for one.
public func CVPixelBufferGetBaseAddress(_ buffer: CVPixelBuffer) -> UnsafeMutableRawPointer? {
    buffer.locks > 0 && buffer.planes.count == 1 ? buffer.planes[0].memory.baseAddress : nil
}

public func CVPixelBufferGetBytesPerRow(_ buffer: CVPixelBuffer) -> Int { buffer.planes[0].bytesPerRow }

/// Null for a buffer without planes, as with the original, and for one that is not locked.
public func CVPixelBufferGetBaseAddressOfPlane(_ buffer: CVPixelBuffer, _ plane: Int) -> UnsafeMutableRawPointer? {
    buffer.locks > 0 && buffer.planes.count > 1 ? buffer.planes[plane].memory.baseAddress : nil
}

public func CVPixelBufferGetHeightOfPlane(_ buffer: CVPixelBuffer, _ plane: Int) -> Int {
    let plane = buffer.planes[plane]
    return (plane.memory.count + plane.bytesPerRow - 1) / plane.bytesPerRow
}

public func CVPixelBufferGetBytesPerRowOfPlane(_ buffer: CVPixelBuffer, _ plane: Int) -> Int {
    buffer.planes[plane].bytesPerRow
}

public enum CVAttachmentMode: UInt32, Sendable {
    case shouldNotPropagate, shouldPropagate
}

public var kCVImageBufferYCbCrMatrixKey: CFString { "CVImageBufferYCbCrMatrix" }
public var kCVImageBufferYCbCrMatrix_ITU_R_601_4: CFString { "ITU_R_601_4" }
public var kCVImageBufferYCbCrMatrix_ITU_R_709_2: CFString { "ITU_R_709_2" }
public var kCVImageBufferColorPrimariesKey: CFString { "CVImageBufferColorPrimaries" }
public var kCVImageBufferColorPrimaries_ITU_R_709_2: CFString { "ITU_R_709_2" }
public var kCVImageBufferTransferFunctionKey: CFString { "CVImageBufferTransferFunction" }
public var kCVImageBufferTransferFunction_sRGB: CFString { "IEC_sRGB" }

public func CVBufferCopyAttachment(
    _ buffer: CVBuffer,
    _ key: CFString,
    _ mode: UnsafeMutablePointer<CVAttachmentMode>?
) -> CFTypeRef? { buffer.attachments[key] }

public func CVBufferSetAttachment(
    _ buffer: CVBuffer,
    _ key: CFString,
    _ value: CFTypeRef,
    _ attachmentMode: CVAttachmentMode
) {
    buffer.attachments[key] = value
}

public func CVBufferRemoveAttachment(_ buffer: CVBuffer, _ key: CFString) {
    buffer.attachments[key] = nil
}

public var kCVPixelBufferPixelFormatTypeKey: CFString { "PixelFormatType" }
public var kCVPixelBufferWidthKey: CFString { "Width" }
public var kCVPixelBufferHeightKey: CFString { "Height" }
public var kCVPixelBufferIOSurfacePropertiesKey: CFString { "IOSurfaceProperties" }

/// A pool that gives out the buffers again that nobody holds any more, as they are.
open class CVPixelBufferPool {
    let format: OSType
    let width: Int
    let height: Int
    private var buffers: [CVPixelBuffer] = []

    /// How many buffers all pools have made.
    public nonisolated(unsafe) static var standInCount = 0

    init(format: OSType, width: Int, height: Int) {
        (self.format, self.width, self.height) = (format, width, height)
    }

    func next() -> CVPixelBuffer {
        for index in buffers.indices where isKnownUniquelyReferenced(&buffers[index]) { return buffers[index] }
        // Rows are longer than they need to be, in each plane by another amount.
        let isBGRA = format == kCVPixelFormatType_32BGRA
        let (luma, chroma) = (isBGRA ? 4 * width + 64 : width + 32, (width + 1) / 2 * 2 + 16)
        var planes = [(Array(repeating: UInt8(0), count: luma * height), luma)]
        if !isBGRA { planes.append((Array(repeating: 0, count: chroma * ((height + 1) / 2)), chroma)) }
        let buffer = CVPixelBuffer(standIn: format, width: width, height: height, planes: planes)
        buffer.isOfSource = false
        buffers.append(buffer)
        Self.standInCount += 1
        return buffer
    }
}

public func CVPixelBufferPoolCreate(
    _ allocator: CFAllocator?,
    _ poolAttributes: CFDictionary?,
    _ pixelBufferAttributes: CFDictionary?,
    _ poolOut: UnsafeMutablePointer<CVPixelBufferPool?>
) -> CVReturn {
    guard let attributes = pixelBufferAttributes as? any StandInDictionary,
        let format = attributes.standInNumber(kCVPixelBufferPixelFormatTypeKey),
        let width = attributes.standInNumber(kCVPixelBufferWidthKey),
        let height = attributes.standInNumber(kCVPixelBufferHeightKey)
    else { return -6_661 }
    poolOut.pointee = CVPixelBufferPool(format: OSType(format), width: width, height: height)
    return kCVReturnSuccess
}

public func CVPixelBufferPoolCreatePixelBuffer(
    _ allocator: CFAllocator?,
    _ pixelBufferPool: CVPixelBufferPool,
    _ pixelBufferOut: UnsafeMutablePointer<CVPixelBuffer?>
) -> CVReturn {
    pixelBufferOut.pointee = pixelBufferPool.next()
    return kCVReturnSuccess
}
