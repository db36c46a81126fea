#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// A block of memory that is not zero-filled, or nil where the system has none.
///
/// `UnsafeMutableRawPointer.allocate` traps instead, and a peer's picture must not be able to cause that.
@unsafe func allocateMemory(byteCount: Int, alignment: Int) -> UnsafeMutableRawPointer? {
    var memory: UnsafeMutableRawPointer?
    guard unsafe posix_memalign(&memory, alignment, byteCount) == 0 else { return nil }
    return unsafe memory
}

/// Gives back a block of `allocateMemory`.
@unsafe func freeMemory(_ memory: UnsafeMutableRawPointer) {
    unsafe free(memory)
}

/// Whether two runs of bytes are the same.
@unsafe func equalBytes(_ first: UnsafePointer<UInt8>, _ second: UnsafePointer<UInt8>, count: Int) -> Bool {
    unsafe memcmp(first, second, count) == 0
}

/// Ten times the decimal logarithm.
func decibels(_ ratio: Double) -> Double {
    10 * log10(ratio)
}
