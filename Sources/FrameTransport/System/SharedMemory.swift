internal import CFrameTransport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Memory that this process shares with its peer: only this process writes to it, and nobody changes its size.
///
/// - Note: `@unchecked Sendable` holds because everything stored is constant; who may write to the memory is decided by
///   the owner of the buffer.
@safe package final class SharedMemory: @unchecked Sendable {
    /// Whether the system supports memory that is safe to share.
    package static var isSupported: Bool { frame_memory_is_supported }

    /// The memory, zero-filled at first.
    package let bytes: MemoryRun

    private let descriptor: OwnedDescriptor

    /// Creates memory to share.
    ///
    /// - Throws: The error of the system, for example if it has no descriptor or no memory left, or does not support it.
    package init(byteCount: Int) throws(Errno) {
        var memory: UnsafeMutableRawPointer?
        let descriptor = unsafe frame_memory_create(byteCount, &memory)
        guard descriptor >= 0 else { throw .current }
        self.descriptor = OwnedDescriptor(descriptor)
        unsafe bytes = MemoryRun(start: memory, count: byteCount)
    }

    deinit {
        unsafe munmap(bytes.baseAddress, bytes.count)
    }

    /// The size in bytes.
    package var byteCount: Int { unsafe bytes.count }

    /// The descriptor to pass to the peer.
    var rawDescriptor: Int32 { descriptor.rawValue }
}

/// Memory that a peer shares with this process, which can only be read.
///
/// The peer may write to it at any time: nothing may be parsed from it.
///
/// - Note: `@unchecked Sendable` holds because everything stored is constant.
@safe final class SharedMapping: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer

    /// Maps the memory behind a descriptor, after checking its seals, its size and its pages; nil if this process has no room
    /// for it.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, which the caller keeps.
    ///   - byteCount: The announced size.
    /// - Throws: `sharedMemory` if it is not what the protocol demands.
    init?(_ descriptor: borrowing OwnedDescriptor, byteCount: Int) throws(TransportError) {
        let fault =
            switch frame_memory_check(descriptor.rawValue, byteCount) {
            case FRAME_MEMORY_FIT: ""
            case FRAME_MEMORY_UNSEALED: "is not memory sealed against changes of its size and writes by others"
            case FRAME_MEMORY_UNORDINARY: "consists of huge pages, which may be missing when they are read"
            case FRAME_MEMORY_MISSIZED: "does not have the announced size of \(byteCount) bytes"
            case FRAME_MEMORY_HOLLOW: "lacks pages: fill it, or reserve it with fallocate, before announcing it"
            default: throw Self.unmappable
            }
        if !fault.isEmpty { throw .sharedMemory("the shared buffer \(fault)") }
        var memory: UnsafeRawPointer?
        switch unsafe frame_memory_map(descriptor.rawValue, byteCount, &memory) {
        case 0: break
        case 1: return nil
        default: throw Self.unmappable
        }
        unsafe bytes = UnsafeRawBufferPointer(start: memory, count: byteCount)
    }

    /// The failure of a call, with its error.
    private static var unmappable: TransportError { .sharedMemory("the shared buffer cannot be mapped", .current) }

    deinit {
        unsafe munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count)
    }
}
