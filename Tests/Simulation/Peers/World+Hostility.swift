internal import FrameWire

/// What a hostile peer does.
enum Hostility: CaseIterable {
    // Either side.
    case garbage, endlessHeader, oneByteAtATime, endAtOnce, resetAtOnce, wrongToken, halfToken
    // Senders.
    case unknownMessagesWithoutBody, unknownMessagesOfOneByte, statusFlood, audioFlood, emptyFrames, smallFrames
    case oversizeClaim, largeClaimThatStalls, halfFrameThenEnd, frameThenEnd, everythingAtOnce, sharing
    case descriptorWithToken
    // Receivers.
    case pingFlood, pingFloodUnread, helloFlood, unknownRequests, helloThenEnd, stopThenEnd, stopThenReset, readsNothing
    case tokenThenEnd, requestsBehindToken, everyRequest, sharedNeverReleased, sharedReleasesOfNothing, badPreferences

    private static let ofBoth: [Hostility] = [
        .garbage, .endlessHeader, .oneByteAtATime, .endAtOnce, .resetAtOnce, .wrongToken, .halfToken,
    ]
    static let ofSenders: [Hostility] =
        ofBoth + [
            .unknownMessagesWithoutBody, .unknownMessagesOfOneByte, .statusFlood, .audioFlood, .emptyFrames,
            .smallFrames,
            .oversizeClaim, .largeClaimThatStalls, .halfFrameThenEnd, .frameThenEnd, .everythingAtOnce, .sharing,
            .sharing,
            .descriptorWithToken,
        ]
    static let ofReceivers = ofBoth + allCases.filter { !ofBoth.contains($0) && !ofSenders.contains($0) }
}

/// What hostile peers say.
extension World {
    /// A sender's connection is there: what it says first.
    func beginSending(_ peer: Int) {
        peers[peer].tokenRemaining = peers[peer].token.count
        if case .hostileSender(let kind) = peers[peer].role {
            showToken(peer, kind)
            // Without a token at both ends there is nothing to wait for.
            if peers[peer].token.isEmpty || kind == .everythingAtOnce || peers[peer].random.chance(30) {
                misbehave(peer, kind)
            }
        } else {
            peers[peer].outgoing += peers[peer].token
        }
        writeForPeer(peer)
    }

    /// A receiver has accepted a connection: what it says first.
    func beginReceiving(_ peer: Int) {
        guard case .hostileReceiver(let kind) = peers[peer].role else { return }
        switch kind {
        case .endAtOnce: endPeer(peer, reset: false)
        case .resetAtOnce: endPeer(peer, reset: true)
        default: if peers[peer].token.isEmpty { handshakeIsOver(peer) }
        }
    }

    /// The tokens have been shown, by the other side at least.
    func handshakeIsOver(_ peer: Int) {
        switch peers[peer].role {
        // It has said everything.
        case .hostileSender(.everythingAtOnce): break
        case .hostileSender(let kind): misbehave(peer, kind)
        case .hostileReceiver(let kind):
            showToken(peer, kind)
            misbehave(peer, kind)
        default: break
        }
        writeForPeer(peer)
    }

    private func showToken(_ peer: Int, _ kind: Hostility) {
        let token = peers[peer].token
        switch kind {
        case .wrongToken:
            coverage.count(.wrongToken)
            peers[peer].outgoing += token.map { $0 ^ 1 }
        case .halfToken: peers[peer].outgoing += token.prefix(token.count / 2)
        case .descriptorWithToken: passWithToken(peer)
        default: peers[peer].outgoing += token
        }
    }

    private static let hello = ControlRequest.hello(ControlRequest.Hello(wants: [.frames, .audio])).encoded()
    private static let sharingHello = ControlRequest.hello(ControlRequest.Hello(wants: [.frames], sharedMemory: 1))
        .encoded()

    private func misbehave(_ peer: Int, _ kind: Hostility) {
        guard peers[peer].floodRemaining == 0 else { return }
        func say(_ bytes: [UInt8]) { peers[peer].outgoing += bytes }
        switch kind {
        case .unknownMessagesWithoutBody, .unknownMessagesOfOneByte, .statusFlood, .audioFlood, .emptyFrames:
            peers[peer].floodRemaining = peers[peer].random.chance(5) ? 200_000 : peers[peer].random.pick(2_000, 6_000)
        case .smallFrames, .endlessHeader: peers[peer].floodRemaining = 5_000
        case .garbage:
            if !peers[peer].role.isSender, peers[peer].random.chance(50) { say(Self.hello) }
            say(WireBytes.garbage)
        case .oneByteAtATime: peers[peer].floodRemaining = 150
        case .oversizeClaim: say(WireBytes.oversizeClaim)
        case .largeClaimThatStalls:
            say(WireBytes.frameHeader(length: peers[peer].random.pick(30_000, 60_000, 120_000)))
            say([UInt8](repeating: 0, count: 1_000))
        case .halfFrameThenEnd:
            say(WireBytes.frameHeader(length: 2_000) + [UInt8](repeating: 0, count: 900))
            peers[peer].leavesWhenWritten = true
        case .frameThenEnd:
            let length = peers[peer].random.pick(64, 3_000, 40_000)
            say(peers[peer].nextFrame(length: length))
            peers[peer].leavesWhenWritten = true
        case .endAtOnce, .wrongToken, .halfToken, .descriptorWithToken:
            peers[peer].leavesWhenWritten = peers[peer].random.chance(70)
        case .resetAtOnce: endPeer(peer, reset: true)
        case .sharing: beginSharing(peer)
        case .everythingAtOnce:
            for _ in 0..<3 { say(peers[peer].nextFrame(length: 700)) }
            peers[peer].leavesWhenWritten = peers[peer].random.chance(25)
        case .pingFlood, .pingFloodUnread, .helloFlood, .unknownRequests:
            if kind != .unknownRequests { say(Self.hello) }
            peers[peer].floodRemaining = peers[peer].random.chance(15) ? 60_000 : 3_000
            peers[peer].readsNothing = kind == .pingFloodUnread
        case .helloThenEnd:
            say(Self.hello)
            peers[peer].leavesWhenWritten = true
        case .stopThenEnd, .stopThenReset:
            say(Self.hello)
            // Those that are read before the stop are answered, which fails if the receiver has gone.
            for number in 0..<peers[peer].random.pick(0, 0, 1, 20, 60) {
                say(ControlRequest.ping(UInt64(number)).encoded())
            }
            say(ControlRequest.stop(.requestedByHost).encoded())
            peers[peer].leavesWhenWritten = kind == .stopThenEnd
            if kind == .stopThenReset {
                writeForPeer(peer)
                endPeer(peer, reset: true)
            }
        case .readsNothing:
            peers[peer].readsNothing = true
            if peers[peer].random.chance(50) { say(Self.hello) }
        case .tokenThenEnd: peers[peer].leavesWhenWritten = true
        case .requestsBehindToken:
            say(Self.hello + ControlRequest.ping(1).encoded() + ControlRequest.refresh.encoded())
        case .everyRequest, .sharedReleasesOfNothing: peers[peer].floodRemaining = 3_000
        case .sharedNeverReleased: say(Self.sharingHello)
        case .badPreferences:
            say(Self.hello)
            peers[peer].floodRemaining = 2_000
        }
    }

    /// Makes the next part of a flood.
    func makeFlood(_ peer: Int) {
        guard peers[peer].floodRemaining > 0 else { return }
        let unit: [UInt8]
        switch peers[peer].role {
        case .hostileSender(let kind), .hostileReceiver(let kind): unit = floodUnit(kind, peer)
        default: return peers[peer].floodRemaining = 0
        }
        let count = max(1, min(peers[peer].floodRemaining, 4_000) / max(1, unit.count))
        for _ in 0..<count { peers[peer].outgoing += unit }
        peers[peer].floodRemaining -= min(peers[peer].floodRemaining, max(1, count * unit.count))
    }

    private func floodUnit(_ kind: Hostility, _ peer: Int) -> [UInt8] {
        let isSender = peers[peer].role.isSender
        switch kind {
        case .unknownMessagesWithoutBody: return WireBytes.unknownWithoutBody
        case .unknownMessagesOfOneByte: return WireBytes.unknownOfOneByte
        case .statusFlood: return WireBytes.status
        case .audioFlood: return WireBytes.audio
        case .emptyFrames: return WireBytes.emptyFrame
        case .endlessHeader: return isSender ? WireBytes.endlessHeader : WireBytes.endlessRequest
        case .oneByteAtATime: return isSender ? WireBytes.unknownWithoutBody : Self.hello
        case .pingFlood, .pingFloodUnread: return ControlRequest.ping(peers[peer].random.next()).encoded()
        case .unknownRequests: return WireBytes.unknownRequest
        case .badPreferences:
            return peers[peer].random.chance(50)
                ? WireBytes.badPreference : ControlRequest.prefer(ControlRequest.Preferences(quality: 100)).encoded()
        case .sharedReleasesOfNothing:
            switch peers[peer].random.below(8) {
            case 0, 1: return Self.sharingHello
            case 2: return peers[peer].random.chance(10) ? ControlRequest.decline.encoded() : []
            default: return ControlRequest.encodedRelease(of: peers[peer].random.below(8))
            }
        case .everyRequest:
            let requests: [ControlRequest] = [
                .hello(ControlRequest.Hello(wants: [.frames])), .pause, .resume, .refresh,
                .prefer(ControlRequest.Preferences(frameRateInMillihertz: 5_000)), .ping(peers[peer].random.next()),
            ]
            return requests[peers[peer].random.below(requests.count)].encoded()
        // Frames that are whole, so that they are delivered and have to be in order.
        default: return isSender ? peers[peer].nextFrame(length: 64) : Self.hello
        }
    }
}
