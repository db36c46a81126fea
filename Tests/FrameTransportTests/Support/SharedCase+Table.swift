#if os(Linux)
    import Foundation
    import FrameSocketTesting
    import FrameTransport
    import FrameWire
    import Glibc
    import TestSupport

    extension SharedCase {
        /// Everything that is tested the same way.
        static let all = memory + otherFiles + passing + unannounced + buffers + declined

        // MARK: What is not memory to share

        private static let memory: [SharedCase] =
            [
                SharedCase("memory without seals", .fails("is not memory sealed")) {
                    try await $0.announce(SealedMemory(seals: []))
                },
                SharedCase("memory with more seals than demanded", .delivers(1)) {
                    try await $0.announce(SealedMemory(seals: [.shrink, .grow, .seal, .futureWrite, .write]))
                    try await $0.send()
                },
                SharedCase("memory sealed against writes in place of later ones", .fails("is not memory sealed")) {
                    try await $0.announce(SealedMemory(seals: [.shrink, .grow, .seal, .write]))
                },
            ]
            + ([.seal, .shrink, .grow, .futureWrite] as [SealedMemory.Seals]).map { missing in
                SharedCase("memory without seal \(missing.rawValue)", .fails("is not memory sealed")) {
                    try await $0.announce(SealedMemory(seals: .demanded.subtracting(missing)))
                }
            } + [
                SharedCase("memory of a byte less than announced", .fails("announced size of 4096")) {
                    try await $0.announce(SealedMemory(4095), byteCount: 4096)
                },
                SharedCase("memory of more than announced", .fails("announced size of 4096")) {
                    try await $0.announce(SealedMemory(8192), byteCount: 4096)
                },
                SharedCase("memory of no bytes", .fails("announced size of 1 ")) {
                    try await $0.announce(SealedMemory(0, isWhole: false), byteCount: 1)
                },
                SharedCase("1 TiB announced as 1 GiB", .fails("announced size")) {
                    try await $0.announce(SealedMemory(1 << 40, isWhole: false), byteCount: 1 << 30)
                },
                SharedCase("memory whose pages are missing", .fails("lacks pages")) {
                    try await $0.announce(SealedMemory(isWhole: false))
                },
                SharedCase("memory whose last page is missing", .fails("lacks pages")) {
                    let memory = try SealedMemory(3 * 4096, seals: [], isWhole: false)
                    posix_fallocate(memory.descriptor, 0, 2 * 4096)
                    _ = fcntl(memory.descriptor, 1033, SealedMemory.Seals.demanded.rawValue)
                    try await $0.announce(memory)
                },
            ]

        private static let otherFiles: [SharedCase] =
            ["/dev/zero", "/dev/null", "/dev/shm", "/tmp", "/proc/self/maps", "/bin/sh"].map { path in
                SharedCase("\(path) in place of memory", .fails("is not memory sealed")) { sender in
                    try await opened(path, O_RDONLY) { try await sender.announce($0) }
                }
            } + [
                SharedCase("a file in /dev/shm in place of memory", .fails("is not memory sealed")) { sender in
                    let path = "/dev/shm/framesocket-\(UUID())"
                    try Data(count: 4096).write(to: URL(fileURLWithPath: path))
                    defer { unsafe unlink(path) }
                    try await opened(path, O_RDWR) { try await sender.announce($0) }
                },
                SharedCase("a pipe in place of memory", .fails("is not memory sealed")) { sender in
                    var ends: [Int32] = [-1, -1]
                    _ = unsafe pipe(&ends)
                    defer { for end in ends { close(end) } }
                    try await sender.announce(ends[0])
                },
                SharedCase("its own socket in place of memory", .fails("is not memory sealed")) {
                    try await $0.announce($0.socket.descriptor)
                },
                SharedCase("memory that may only be named", .fails("is not memory sealed")) { sender in
                    let memory = try SealedMemory()
                    // O_PATH.
                    try await reopened(memory, 0x20_0000) { try await sender.announce($0) }
                },
                SharedCase("memory that may not be read", .fails("cannot be mapped")) { sender in
                    let memory = try SealedMemory()
                    try await reopened(memory, O_WRONLY) { try await sender.announce($0) }
                },
                SharedCase("memory that may only be read", .delivers(1)) { sender in
                    let memory = try SealedMemory()
                    try await reopened(memory, O_RDONLY) { try await sender.announce($0) }
                    try await sender.send()
                },
            ]

        private static func reopened(
            _ memory: SealedMemory,
            _ flags: Int32,
            _ body: (Int32) async throws -> Void
        ) async throws {
            try await opened("/proc/self/fd/\(memory.descriptor)", flags, body)
        }

        private static func opened(
            _ path: String,
            _ flags: Int32,
            _ body: (Int32) async throws -> Void
        ) async throws {
            let descriptor = unsafe open(path, flags | O_CLOEXEC)
            defer { close(descriptor) }
            try await body(descriptor)
        }

        // MARK: Announcements

        private static let passing: [SharedCase] =
            [
                SharedCase("an announcement without a descriptor", .fails("without passing its descriptor")) {
                    try await $0.socket.write(SharedSender.announcement())
                }
            ]
            + [2, 253].map { count in
                SharedCase("an announcement with \(count) descriptors", .fails("more than one descriptor", after: 1)) {
                    let memory = try SealedMemory()
                    try await $0.sendJPEG()
                    let passed = [Int32](repeating: memory.descriptor, count: count)
                    try await $0.socket.write(SharedSender.announcement(), passing: passed)
                }
            } + [
                SharedCase("a descriptor with each byte of an announcement", .fails("more than one descriptor")) {
                    let memory = try SealedMemory()
                    for byte in SharedSender.announcement() {
                        try await $0.socket.write([byte], passing: [memory.descriptor])
                    }
                }
            ]

        /// A descriptor with the byte `offset` of a frame of 300 bytes, before which a frame is sent.
        private static func unannounced(_ what: String, at offset: (Int) -> Int, after count: Int) -> SharedCase {
            let bytes = message(body(2, count: 300))
            let offset = offset(bytes.count)
            return SharedCase("a descriptor \(what)", .fails("without announcing it", after: count)) { sender in
                try await sender.sendJPEG()
                await IOThread.shared.settle()
                // Otherwise the frame may be complete, or not, when the descriptor is found.
                if offset > 0 { try await sender.socket.write(Array(bytes[..<offset])) }
                await IOThread.shared.settle()
                try await sender.socket.write(Array(bytes[offset...]), passing: [sender.socket.descriptor])
            }
        }

        private static let unannounced: [SharedCase] = [
            unannounced("at the very end", at: { $0 - 1 }, after: 2),
            SharedCase("a descriptor with a body that is skipped and does not end", .fails("without announcing")) {
                let header = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nMessage-Type: later\r\n\r\n"
                try await $0.socket.write([UInt8(ascii: "H")], passing: [$0.socket.descriptor])
                await IOThread.shared.settle()
                try await $0.socket.write(Array(header.utf8.dropFirst()))
                try await $0.socket.otherEndEnded()
            },
        ]

        // MARK: Buffers

        private static let buffers: [SharedCase] = [
            SharedCase("a buffer announced again that is not held", .delivers(3), keepsFrames: false) {
                // Twice before a frame, of another size, and after a release.
                try await $0.announce(SealedMemory(8192))
                try await $0.announce(SealedMemory())
                for _ in 0..<3 {
                    try await $0.send()
                    try await $0.request("release")
                    try await $0.announce(SealedMemory())
                }
            }
        ]

        // MARK: Declined

        private static let declined: [SharedCase] = [
            SharedCase("a buffer of more than the budget has", .delivers(2)) {
                // Half of it is for connections, a quarter of which is already taken.
                try await $0.announce(SealedMemory(33 << 20))
                try await $0.send()
                try await $0.request("decline")
                try await $0.sendJPEG()
                // What was under way is skipped, its descriptors are closed.
                try await $0.announce(SealedMemory())
                try await $0.send()
                try await $0.announce(SealedMemory(seals: []))
                try await $0.socket.write(SharedSender.announcement())
                try await $0.sendJPEG()
            }
        ]
    }
#endif
