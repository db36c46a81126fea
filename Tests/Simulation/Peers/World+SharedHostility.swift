internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// What a hostile sender does with shared memory, after some frames that keep the rules.
enum HostileSharing: Int, CaseIterable {
    case nothing, unsealed, missized, hollow, unannouncedFrame, heldBuffer, frameInHeldBuffer, planesOutside
    case noDescriptor, twoDescriptors, descriptorWithFrame, descriptorAlone, descriptorWithinHeader, replacedBuffers
    case writesWhileHeld

    /// Whether a receiver that accepts shared memory must end the connection.
    var breaksRules: Bool {
        switch self {
        case .nothing, .replacedBuffers, .writesWhileHeld: false
        // If the program has released the first frame by then, nothing is wrong with the second.
        case .heldBuffer, .frameInHeldBuffer: false
        default: true
        }
    }
}

/// What a hostile sender has shared.
struct PeerSharing {
    var kind = HostileSharing.nothing
    /// How many frames keep the rules.
    var left = 0
    var regions = [SharedRegion?](repeating: nil, count: SharedFrameHeader.Buffer.indices.count)
    /// What is to be passed, by its place in what is written.
    var passing: [(offset: Int, descriptors: [SimDescriptor])] = []
    /// Whether a rule has been broken, so that the receiver has to end the connection.
    var hasBrokenRule = false
}

extension World {
    private static let size = BufferSize(width: 64, height: 4)

    /// Begins to share memory, well and then badly.
    func beginSharing(_ peer: Int) {
        peers[peer].sharing = PeerSharing()
        let kind = HostileSharing(rawValue: peers[peer].random.below(HostileSharing.allCases.count)) ?? .nothing
        peers[peer].sharing.kind = kind
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
        message(Array(token.dropFirst(offset)), passing: [SimDescriptor(region: SharedRegion([0]))], of: peer)
        peers[peer].sharing.hasBrokenRule = true
        coverage.count(.descriptorWithToken)
    }

    /// A connection is presented: its sender has passed nothing with its token that the receiver would have got.
    func checkToken(of receiver: SimReceiver) {
        let isBroken = (0..<peerCount).contains { peer in
            let socket = peers[peer].socket
            guard case .hostileSender(.descriptorWithToken) = peers[peer].role, socket >= 0 else { return false }
            return sockets[socket].peer == receiver.socket && peers[peer].sharing.hasBrokenRule
        }
        let isAccepted = isBroken && receiver.acceptsSharedMemory
        check(
            .rulesAreEnforced,
            !isAccepted,
            "connection \(receiver.index) is presented after a descriptor with a token"
        )
    }

    private func message(_ bytes: [UInt8], passing: [SimDescriptor] = [], of peer: Int) {
        if !passing.isEmpty {
            peers[peer].sharing.passing.append((peers[peer].outgoing.count, passing))
        }
        peers[peer].outgoing += bytes
    }

    private func region(_ peer: Int, _ number: UInt32) -> SharedRegion {
        let identity = Content.Identity(sender: peers[peer].identity, number: number, length: 0, content: number)
        guard let image = ImageContent.image(identity, Self.size) else { return SharedRegion([0]) }
        var bytes: [UInt8] = []
        for row in 0..<image.height {
            image.withRow(row) { row in for index in row.indices { bytes.append(row[index]) } }
        }
        return SharedRegion(bytes)
    }

    private func announce(_ peer: Int, _ buffer: Int, _ region: SharedRegion) {
        peers[peer].sharing.regions[buffer] = region
        let header = unsafe SharedFrameHeader.Buffer(index: buffer, byteCount: region.bytes.count)
        message(header.encoded(), passing: [SimDescriptor(region: region)], of: peer)
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
        announce(peer, buffer, region(peer, number))
        message(header(buffer, number), of: peer)
    }

    private func breakRule(_ peer: Int, _ kind: HostileSharing, buffer: Int) {
        peers[peer].lastNumber += 1
        let number = peers[peer].lastNumber
        let region = region(peer, number)
        let descriptor = SimDescriptor(region: region)
        let announcement = unsafe SharedFrameHeader.Buffer(index: buffer, byteCount: region.bytes.count).encoded()
        switch kind {
        case .nothing: break
        case .unsealed: message(announcement, passing: [SimDescriptor(region: region, fault: .unsealed)], of: peer)
        case .hollow: message(announcement, passing: [SimDescriptor(region: region, fault: .hollow)], of: peer)
        case .missized:
            let wrong = unsafe SharedFrameHeader.Buffer(index: buffer, byteCount: region.bytes.count + 1).encoded()
            message(wrong, passing: [descriptor], of: peer)
        case .unannouncedFrame: message(header(7, number), of: peer)
        case .heldBuffer:
            share(peer, buffer: 6)
            message(
                unsafe SharedFrameHeader.Buffer(index: 6, byteCount: region.bytes.count).encoded(),
                passing: [descriptor],
                of: peer
            )
        case .frameInHeldBuffer:
            share(peer, buffer: 6)
            message(header(6, number), of: peer)
        case .planesOutside:
            announce(peer, buffer, region)
            message(header(buffer, number, offset: 1), of: peer)
        case .noDescriptor: message(announcement, of: peer)
        case .twoDescriptors: message(announcement, passing: [descriptor, descriptor], of: peer)
        case .descriptorWithFrame:
            announce(peer, buffer, region)
            message(header(buffer, number), passing: [descriptor], of: peer)
        case .descriptorAlone: message(WireBytes.unknownOfOneByte, passing: [descriptor], of: peer)
        case .descriptorWithinHeader:
            message(Array(announcement.prefix(20)), passing: [descriptor], of: peer)
            message(Array(announcement.dropFirst(20)), passing: [descriptor], of: peer)
        case .replacedBuffers:
            for _ in 0..<5 { announce(peer, buffer, self.region(peer, number)) }
            message(header(buffer, number), of: peer)
        case .writesWhileHeld: share(peer, buffer: 5)
        }
        peers[peer].sharing.hasBrokenRule = kind.breaksRules
    }

    /// The descriptors that go with the next bytes, and how many bytes there are before others have to go.
    func nextPassing(_ peer: Int, _ part: Int) -> (descriptors: [SimDescriptor], count: Int) {
        guard let next = peers[peer].sharing.passing.first else { return ([], part) }
        let start = peers[peer].written
        if next.offset > start { return ([], min(part, next.offset - start)) }
        let end = peers[peer].sharing.passing.count > 1 ? peers[peer].sharing.passing[1].offset : .max
        return (next.descriptors, min(part, end - start))
    }

    /// The first of them have gone.
    func passed(_ peer: Int) {
        peers[peer].sharing.passing.removeFirst()
    }

    /// A hostile sender has broken a rule, and its receiver has read everything: the connection has ended.
    func checkRules() {
        for peer in 0..<peerCount {
            let socket = peers[peer].socket
            guard peers[peer].sharing.hasBrokenRule, socket >= 0, peers[peer].outgoing.isEmpty,
                let receiver = receivers.first(where: { $0.socket == sockets[socket].peer && $0.acceptsSharedMemory }),
                receiver.closeReason == nil, !receiver.shared.hasDeclined, receiver.frames.waiter != nil,
                !receiver.frames.hasBeenWoken, isAsleep(receiver.thread),
                sockets[receiver.socket].inbound.count == 0, receiver.machine.isReady, !receiver.isEnding
            else { continue }
            let kind = peers[peer].sharing.kind
            violate(.rulesAreEnforced, "connection \(receiver.index) goes on although its sender broke a rule: \(kind)")
        }
        coverage.checked(.rulesAreEnforced)
    }
}
