#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Blocks of at least this size get a separate mapping.
///
/// A heap keeps what was freed, and glibc's eventually keeps blocks of several megabytes: a sender whose image size
/// changes would then hold the memory of both sizes.
private let mappedByteCount = 1 << 20

#if GUARDED_PIXELS
    /// For fuzzing: every block ends at an inaccessible page, because code without instrumentation writes there too.
    private let guardedPage = Int(sysconf(Int32(_SC_PAGESIZE)))

    private func guardedSize(_ byteCount: Int) -> Int {
        (byteCount + guardedPage - 1) / guardedPage * guardedPage
    }

    @unsafe func allocateMemory(byteCount: Int, alignment: Int) -> UnsafeMutableRawPointer? {
        let (size, flags) = (guardedSize(byteCount), MAP_PRIVATE | Int32(MAP_ANONYMOUS))
        guard let memory = unsafe mmap(nil, size + guardedPage, PROT_READ | PROT_WRITE, flags, -1, 0),
            unsafe memory != MAP_FAILED
        else { return nil }
        unsafe mprotect(memory + size, guardedPage, PROT_NONE)
        return unsafe memory + (size - byteCount) / alignment * alignment
    }

    @unsafe func freeMemory(_ memory: UnsafeMutableRawPointer, byteCount: Int) {
        let start = unsafe UInt(bitPattern: memory) / UInt(guardedPage) * UInt(guardedPage)
        unsafe munmap(UnsafeMutableRawPointer(bitPattern: start), guardedSize(byteCount) + guardedPage)
    }
#else
    /// Returns a block of memory that is not explicitly zero-filled; nil if the system has none.
    ///
    /// `UnsafeMutableRawPointer.allocate` traps instead, and a peer's image must not be able to cause that.
    @unsafe func allocateMemory(byteCount: Int, alignment: Int) -> UnsafeMutableRawPointer? {
        guard byteCount < mappedByteCount else {
            let flags = MAP_PRIVATE | Int32(MAP_ANONYMOUS)
            let memory = unsafe mmap(nil, byteCount, PROT_READ | PROT_WRITE, flags, -1, 0)
            return unsafe memory == MAP_FAILED ? nil : memory
        }
        var memory: UnsafeMutableRawPointer?
        guard unsafe posix_memalign(&memory, alignment, byteCount) == 0 else { return nil }
        return unsafe memory
    }

    /// Frees a block of `allocateMemory`, given the size that was requested.
    @unsafe func freeMemory(_ memory: UnsafeMutableRawPointer, byteCount: Int) {
        if byteCount < mappedByteCount {
            unsafe free(memory)
        } else {
            unsafe munmap(memory, byteCount)
        }
    }

#endif

/// Returns whether two byte sequences are equal.
@unsafe func equalBytes(_ first: UnsafePointer<UInt8>, _ second: UnsafePointer<UInt8>, count: Int) -> Bool {
    unsafe memcmp(first, second, count) == 0
}

/// Returns the index of the first marker at or after `start` that ends a scan's data; the count if there is none.
///
/// Restart markers are part of the data, and so is `FF 00`, which represents a byte FF.
@unsafe func endOfScanData(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    var index = start
    while index < bytes.count {
        guard let found = unsafe memchr(base + index, 0xFF, bytes.count - index) else { break }
        index = unsafe UnsafeRawPointer(base).distance(to: found)
        // Any number of FF bytes may precede a marker's second byte.
        var next = index + 1
        while next < bytes.count, unsafe bytes[next] == 0xFF { next += 1 }
        guard next < bytes.count else { break }
        let marker = unsafe bytes[next]
        guard marker == 0 || JPEGMarker.restarts.contains(marker) else { return index }
        index = next + 1
    }
    return bytes.count
}

/// Returns ten times the decimal logarithm.
func decibels(_ ratio: Double) -> Double {
    10 * log10(ratio)
}

/// Returns the index of the next FF byte in a range.
@unsafe func nextMarkedByte(_ bytes: UnsafeBufferPointer<UInt8>, in range: Range<Int>) -> Int? {
    guard let base = bytes.baseAddress, !range.isEmpty,
        let found = unsafe memchr(base + range.lowerBound, 0xFF, range.count)
    else { return nil }
    return unsafe UnsafeRawPointer(base).distance(to: found)
}
