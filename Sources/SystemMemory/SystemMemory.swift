#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Memory for images and messages, of sizes that a peer may choose: if the system has none, nothing traps.
package enum SystemMemory {
    #if GUARDED_MEMORY
        /// For fuzzing: every block ends at an inaccessible page, because code without instrumentation writes there too.
        private static let page = Int(sysconf(Int32(_SC_PAGESIZE)))

        private static func guardedSize(_ byteCount: Int) -> Int { (byteCount + page - 1) / page * page }

        @unsafe package static func allocate(byteCount: Int, alignment: Int) -> UnsafeMutableRawPointer? {
            let size = guardedSize(byteCount)
            guard let memory = unsafe map(byteCount: size + page) else { return nil }
            unsafe mprotect(memory + size, page, PROT_NONE)
            return unsafe memory + (size - byteCount) / alignment * alignment
        }

        @unsafe package static func release(_ memory: UnsafeMutableRawPointer?, byteCount: Int) {
            let start = UInt(bitPattern: memory) / UInt(page) * UInt(page)
            unsafe munmap(UnsafeMutableRawPointer(bitPattern: start), guardedSize(byteCount) + page)
        }
    #else
        /// Blocks of at least this size get a separate mapping.
        ///
        /// A heap keeps what was freed, and glibc's eventually keeps blocks of several megabytes: a sender whose image size
        /// changes would then hold the memory of both sizes.
        private static let mappedByteCount = 1 << 20

        /// Returns a block of memory that is not explicitly zero-filled; nil if the system has none, on which
        /// `UnsafeMutableRawPointer.allocate` would trap.
        @unsafe package static func allocate(byteCount: Int, alignment: Int) -> UnsafeMutableRawPointer? {
            guard byteCount < mappedByteCount else { return unsafe map(byteCount: byteCount) }
            var memory: UnsafeMutableRawPointer?
            guard unsafe posix_memalign(&memory, alignment, byteCount) == 0 else { return nil }
            return unsafe memory
        }

        /// Releases a block of ``allocate(byteCount:alignment:)``, given the size that was requested.
        @unsafe package static func release(_ memory: UnsafeMutableRawPointer?, byteCount: Int) {
            if byteCount < mappedByteCount {
                unsafe free(memory)
            } else {
                unsafe munmap(memory, byteCount)
            }
        }
    #endif

    @unsafe private static func map(byteCount: Int) -> UnsafeMutableRawPointer? {
        let memory = unsafe mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | Int32(MAP_ANONYMOUS), -1, 0)
        return unsafe memory == MAP_FAILED ? nil : memory
    }
}
