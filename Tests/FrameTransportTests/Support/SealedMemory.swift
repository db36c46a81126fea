#if os(Linux)
    import Foundation
    import Glibc

    /// Memory of a file descriptor as a sender shares it, or with whatever is wrong about it.
    @safe final class SealedMemory: @unchecked Sendable {
        /// The seals of Linux, which the C library declares for GNU sources alone.
        struct Seals: OptionSet, Sendable {
            let rawValue: Int32
            static let seal = Seals(rawValue: 1)
            static let shrink = Seals(rawValue: 2)
            static let grow = Seals(rawValue: 4)
            static let write = Seals(rawValue: 8)
            static let futureWrite = Seals(rawValue: 16)
            /// Those that the protocol demands.
            static let demanded: Seals = [.seal, .shrink, .grow, .futureWrite]
        }

        let descriptor: Int32
        let byteCount: Int
        private let mapping: UnsafeMutableRawPointer?

        /// Creates memory.
        ///
        /// - Parameters:
        ///   - byteCount: Its size.
        ///   - seals: Its seals.
        ///   - isWhole: Whether all of its pages exist; if not, it cannot be filled.
        ///   - hasHugePages: Whether it consists of huge pages, none of which is allocated.
        /// - Throws: The system's error.
        init(
            _ byteCount: Int = 4096,
            seals: Seals = .demanded,
            isWhole: Bool = true,
            hasHugePages: Bool = false
        ) throws {
            self.byteCount = byteCount
            let flags: UInt32 = 1 | 2 | (hasHugePages ? 4 : 0)
            descriptor = unsafe memfdCreate?("peer", flags) ?? -1
            guard descriptor >= 0, ftruncate(descriptor, byteCount) == 0 else { throw Self.failure }
            var memory: UnsafeMutableRawPointer?
            if isWhole, !hasHugePages {
                guard posix_fallocate(descriptor, 0, byteCount) == 0 else { throw Self.failure }
                unsafe memory = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
                guard unsafe memory != MAP_FAILED else { throw Self.failure }
            }
            if seals.contains(.write), let mapped = unsafe memory {
                unsafe munmap(mapped, byteCount)
                unsafe memory = nil
            }
            unsafe mapping = memory
            // F_ADD_SEALS.
            guard fcntl(descriptor, 1033, seals.rawValue) == 0 else { throw Self.failure }
        }

        deinit {
            if let mapping = unsafe mapping { unsafe munmap(mapping, byteCount) }
            close(descriptor)
        }

        private static var failure: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }

        /// Sets every byte.
        func fill(_ byte: UInt8) {
            if let mapping = unsafe mapping { unsafe memset(mapping, Int32(byte), byteCount) }
        }
    }

    // Declared for GNU sources alone.
    private let memfdCreate = unsafe unsafeBitCast(
        dlsym(nil, "memfd_create"),
        to: (@convention(c) (UnsafePointer<CChar>, UInt32) -> Int32)?.self
    )
#endif
