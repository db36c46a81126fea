internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// What a hostile sender does with shared memory, after some frames that keep the rules.
///
/// Of the ways to break a rule, each of which is a case of `SharedMemoryHostileTests`, here are those that depend on what the
/// program does meanwhile, or on how what is written is read.
enum HostileSharing: CaseIterable {
    case nothing, heldBuffer, frameInHeldBuffer, planesOutside, descriptorAlone, descriptorWithinHeader, replacedBuffers

    /// Whether a receiver that accepts shared memory must end the connection.
    var breaksRules: Bool {
        switch self {
        case .nothing, .replacedBuffers: false
        // If the program has released the first frame by then, nothing is wrong with the second.
        case .heldBuffer, .frameInHeldBuffer: false
        case .planesOutside, .descriptorAlone, .descriptorWithinHeader: true
        }
    }
}

/// What a hostile sender has shared.
struct PeerSharing {
    /// What is to be passed, by its place in what is written.
    var passing: [(offset: Int, memories: [SharedMemory])] = []
    /// The rule that has been broken, so that the receiver has to end the connection.
    var brokenRule: HostileSharing?
}

extension World {
    private static let size = BufferSize(width: 64, height: 4)

    /// Begins to share memory, well and then badly.
    func beginSharing(_ peer: Int) {
        peers[peer].sharing = PeerSharing()
        let kind = HostileSharing.allCases[peers[peer].random.below(HostileSharing.allCases.count)]
        let frames = peers[peer].random.below(4)
        for index in 0..<frames { share(peer, buffer: index) }
        breakRule(peer, kind, buffer: frames)
        peers[peer].leavesWhenWritten = peers[peer].random.chance(40)
    }

    /// Shows the token, and passes a descriptor with one of its bytes.
    func passWithToken(_ peer: Int) {
        peers[peer].sharing = PeerSharing()
        let token = peers[peer].token
        let offset = token.isEmpty ? 0 : peers[peer].random.below(token.count)
        peers[peer].outgoing += token.prefix(offset)
        guard !token.isEmpty else { return }
        message(Array(token.dropFirst(offset)), passing: [memory(peer, 0)].compactMap(\.self), of: peer)
        peers[peer].sharing.brokenRule = .descriptorAlone
        coverage.count(.descriptorWithToken)
    }

    /// A connection is presented: its sender has passed nothing with its token that the receiver would have got.
    func checkToken(of receiver: SimReceiver) {
        let isBroken = peers.contains { peer in
            guard case .hostileSender(.descriptorWithToken) = peer.role, peer.socket >= 0 else { return false }
            return sockets[peer.socket].peer == receiver.socket && peer.sharing.brokenRule != nil
        }
        let isAccepted = isBroken && receiver.acceptsSharedMemory
        check(
            .rulesAreEnforced,
            !isAccepted,
            "connection \(receiver.index) is presented after a descriptor with a token"
        )
    }

    private func message(_ bytes: [UInt8], passing: [SharedMemory] = [], of peer: Int) {
        if !passing.isEmpty { peers[peer].sharing.passing.append((peers[peer].outgoing.count, passing)) }
        peers[peer].outgoing += bytes
    }

    /// The memory of an image; nil if the system has none.
    private func memory(_ peer: Int, _ number: UInt32) -> SharedMemory? {
        let identity = Content.Identity(sender: peers[peer].identity, number: number, length: 0, content: number)
        guard let image = ImageContent.image(identity, Self.size),
            let memory = try? SharedMemory(byteCount: image.width * image.height)
        else { return nil }
        for row in 0..<image.height {
            image.withRow(row) { pixels in
                for index in pixels.indices { unsafe memory.bytes[row * image.width + index] = pixels[index] }
            }
        }
        return memory
    }

    private func announcement(_ buffer: Int, _ memory: SharedMemory) -> [UInt8] {
        SharedFrameHeader.Buffer(index: buffer, byteCount: memory.byteCount).encoded()
    }

    private func header(_ buffer: Int, _ number: UInt32, offset: Int = 0) -> [UInt8] {
        SharedFrameHeader(
            buffer: buffer,
            format: .gray,
            info: FrameInfo(bufferSize: Self.size, sequence: UInt64(number)),
            planes: [.init(offset: offset, bytesPerRow: Self.size.width)]
        ).encoded()
    }

    /// A frame that keeps the rules.
    private func share(_ peer: Int, buffer: Int) {
        peers[peer].lastNumber += 1
        let number = peers[peer].lastNumber
        guard let memory = memory(peer, number) else { return }
        message(announcement(buffer, memory), passing: [memory], of: peer)
        message(header(buffer, number), of: peer)
    }

    private func breakRule(_ peer: Int, _ kind: HostileSharing, buffer: Int) {
        if kind == .heldBuffer || kind == .frameInHeldBuffer { share(peer, buffer: 6) }
        peers[peer].lastNumber += 1
        let number = peers[peer].lastNumber
        guard let memory = memory(peer, number) else { return }
        let announcement = announcement(kind == .heldBuffer ? 6 : buffer, memory)
        switch kind {
        case .nothing: break
        case .heldBuffer: message(announcement, passing: [memory], of: peer)
        case .frameInHeldBuffer: message(header(6, number), of: peer)
        case .planesOutside:
            message(announcement, passing: [memory], of: peer)
            message(header(buffer, number, offset: 1), of: peer)
        case .descriptorAlone: message(WireBytes.unknownOfOneByte, passing: [memory], of: peer)
        case .descriptorWithinHeader:
            message(Array(announcement.prefix(20)), passing: [memory], of: peer)
            message(Array(announcement.dropFirst(20)), passing: [memory], of: peer)
        case .replacedBuffers:
            for _ in 0..<5 { message(announcement, passing: [self.memory(peer, number) ?? memory], of: peer) }
            message(header(buffer, number), of: peer)
        }
        if kind.breaksRules { peers[peer].sharing.brokenRule = kind }
    }

    /// The memory that goes with the next bytes, and how many bytes there are before others have to go.
    func nextPassing(_ peer: Int, _ part: Int) -> (memories: [SharedMemory], count: Int) {
        guard let next = peers[peer].sharing.passing.first else { return ([], part) }
        let start = peers[peer].written
        if next.offset > start { return ([], min(part, next.offset - start)) }
        let end = peers[peer].sharing.passing.count > 1 ? peers[peer].sharing.passing[1].offset : .max
        return (next.memories, min(part, end - start))
    }

    /// A hostile sender has broken a rule, and its receiver has read everything: the connection has ended.
    func checkRules() {
        for peer in peers {
            guard let rule = peer.sharing.brokenRule, peer.socket >= 0, peer.outgoing.isEmpty,
                let receiver = receivers.first(where: { $0.socket == sockets[peer.socket].peer }),
                receiver.acceptsSharedMemory, receiver.closeReason == nil, !receiver.shared.hasDeclined,
                receiver.frames.waiter != nil, !receiver.frames.hasBeenWoken, isAsleep(receiver.thread),
                sockets[receiver.socket].inbound.count == 0, receiver.machine.isReady, !receiver.isEnding
            else { continue }
            violate(.rulesAreEnforced, "connection \(receiver.index) goes on although its sender broke a rule: \(rule)")
        }
        coverage.checked(.rulesAreEnforced)
    }
}
