import Foundation
import FrameSocket
import FrameSocketTesting
import TestSupport

extension Peer {
    /// One connection after another, each of them wrong in the way of this kind.
    mutating func lie(until deadline: ContinuousClock.Instant) async {
        while ContinuousClock.now < deadline {
            do {
                let socket = try PeerSocket.connected(to: endpoint.description)
                if let tokens, kind != .stranger {
                    try await socket.write(tokens.own)
                    guard try await socket.read(tokens.expected.count) == tokens.expected else { continue }
                }
                try await lie(to: socket, until: deadline)
                socket.finishWriting()
                // What the host makes of it is the host's to show; its end is waited for, so that liars do not flood it.
                if kind == .cut { try await Task.sleep(for: .milliseconds(5)) } else { _ = try await socket.read(1) }
            } catch {
                // The host has ended the connection, or had no room for another.
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private mutating func lie(to socket: PeerSocket, until deadline: ContinuousClock.Instant) async throws {
        let body = Content.bytes(.random(in: 1...100_000, using: &random), &random)
        switch kind {
        case .silent:
            try await wait(until: deadline)
        case .garbage:
            try await socket.write(body)
        case .cut:
            let message = self.message(body)
            try await socket.write(Array(message.prefix(.random(in: 1..<message.count, using: &random))))
        case .lengths:
            let wrong = max(1, body.count + .random(in: -200...200, using: &random))
            try await socket.write(message(body, claiming: wrong) + message(body))
        case .claims:
            try await socket.write(message(Array(body.prefix(5000)), claiming: 32 << 20))
            try await wait(until: deadline)
        case .hugeClaims:
            try await socket.write(message(body, claiming: .max))
        case .slow:
            // From the header on, or in its body.
            let message = self.message(body)
            let start = Bool.random(using: &random) ? 0 : 200
            try await socket.write(Array(message.prefix(start)))
            for byte in message.dropFirst(start) where ContinuousClock.now < deadline {
                try await socket.write([byte])
                try await Task.sleep(for: .milliseconds(20))
            }
        case .poison:
            while ContinuousClock.now < deadline {
                try await socket.write(message(Content.poisonJPEG(&random)))
            }
        case .mutant:
            var message = self.message(body)
            let index = Int.random(in: 0..<min(150, message.count), using: &random)
            message[index] = UInt8(truncatingIfNeeded: random.next())
            try await socket.write(message + self.message(body))
        case .stranger:
            try await socket.write(Array(body.prefix(64)))
        case .passer:
            try await passDescriptors(to: socket)
        case .video, .images, .talker, .flapper, .doomed, .sharer, .doomedSharer:
            break
        }
    }

    /// Descriptors of what is no sealed memory, more or fewer of them than announced, or without an announcement.
    private mutating func passDescriptors(to socket: PeerSocket) async throws {
        let path = ["/dev/zero", "/dev/null", "/proc/self/exe", "/"].randomElement(using: &random) ?? "/"
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let announcement = PeerMessage.sharedBuffer(Int.random(in: 0...9, using: &random), byteCount: 4096).bytes
        let frame = PeerMessage.sharedFrame(
            in: Int.random(in: 0...9, using: &random),
            format: "bgra",
            width: 32,
            height: 32,
            planes: [(offset: 0, bytesPerRow: 128)]
        )
        let bytes = [announcement, announcement + frame.bytes, frame.bytes, message([1, 2, 3])]
        let count = [0, 1, 1, 1, 2, 253].randomElement(using: &random) ?? 1
        try await socket.write(
            bytes.randomElement(using: &random) ?? announcement,
            passing: Array(repeating: descriptor, count: count)
        )
    }

    /// A message without the fields by which a receiver checks it.
    private func message(_ body: [UInt8], claiming length: Int? = nil) -> [UInt8] {
        let message = PeerMessage.frame(body, width: 64, height: 64)
        let length = "Content-Length: \(length ?? body.count)"
        let header = message.header.replacing("Content-Length: \(body.count)", with: length)
        return PeerMessage(header: header, body: body).bytes
    }

    private func wait(until deadline: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: min(deadline, .now + .seconds(2)), clock: .continuous)
    }
}
