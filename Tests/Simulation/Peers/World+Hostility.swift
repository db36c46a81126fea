internal import FrameWire

/// What hostile peers say.
extension World {
    /// A sender's connection is there: what it says first.
    func beginSending(_ peer: Int) {
        let isEverything = if case .hostileSender(.everythingAtOnce) = peers[peer].role { true } else { false }
        peers[peer].tokenRemaining = peers[peer].expectedTokenCount
        switch peers[peer].role {
        case .hostileSender(.wrongToken):
            coverage.count(.wrongToken)
            peers[peer].outgoing += peers[peer].token.map { $0 ^ 1 }
        case .hostileSender(.halfToken):
            peers[peer].outgoing += peers[peer].token.prefix(peers[peer].token.count / 2)
        case .hostileSender(.descriptorWithToken):
            passWithToken(peer)
        default:
            peers[peer].outgoing += peers[peer].token
        }
        if case .hostileSender(let kind) = peers[peer].role {
            coverage.count(.hostileSender)
            // Without a token at both ends there is nothing to wait for.
            if peers[peer].expectedTokenCount == 0 || isEverything || peers[peer].random.chance(30) {
                beginHostileSending(peer, kind)
            }
        } else {
            coverage.count(.plainSender)
        }
        writeForPeer(peer)
    }

    /// The tokens have been shown.
    func handshakeIsOver(_ peer: Int) {
        switch peers[peer].role {
        // It has said everything.
        case .hostileSender(.everythingAtOnce): break
        case .hostileSender(let kind): beginHostileSending(peer, kind)
        case .hostileReceiver(let kind): beginHostileReceiving(peer, kind)
        default: break
        }
        writeForPeer(peer)
    }

    private func beginHostileSending(_ peer: Int, _ kind: HostileSending) {
        guard peers[peer].floodRemaining == 0 else { return }
        switch kind {
        case .unknownMessagesWithoutBody, .unknownMessagesOfOneByte, .statusFlood, .audioFlood, .emptyFrames:
            peers[peer].floodRemaining = peers[peer].random.chance(5) ? 200_000 : peers[peer].random.pick(2_000, 6_000)
        case .smallFrames, .garbage, .endlessHeader:
            peers[peer].floodRemaining = 5_000
        case .oneByteAtATime:
            peers[peer].floodRemaining = 100
        case .oversizeClaim:
            peers[peer].outgoing += WireBytes.oversizeClaim
        case .largeClaimThatStalls:
            peers[peer].outgoing += WireBytes.frameHeader(length: peers[peer].random.pick(30_000, 60_000, 120_000))
            peers[peer].outgoing += [UInt8](repeating: 0, count: 1_000)
        case .halfFrameThenEnd:
            peers[peer].outgoing += WireBytes.frameHeader(length: 2_000) + [UInt8](repeating: 0, count: 900)
            peers[peer].leavesWhenWritten = true
        case .frameThenEnd:
            appendFrame(peer, length: peers[peer].random.pick(64, 3_000, 40_000))
            peers[peer].leavesWhenWritten = true
        case .endAtOnce, .wrongToken, .halfToken, .descriptorWithToken:
            peers[peer].leavesWhenWritten = peers[peer].random.chance(70)
        case .resetAtOnce:
            endPeer(peer, reset: true)
        case .sharing, .sharingToo:
            beginSharing(peer)
        case .everythingAtOnce:
            for _ in 0..<3 { appendFrame(peer, length: 700) }
            peers[peer].leavesWhenWritten = peers[peer].random.chance(25)
        }
    }

    private func appendFrame(_ peer: Int, length: Int) {
        peers[peer].lastNumber += 1
        let number = peers[peer].lastNumber
        peers[peer].outgoing += WireBytes.frameHeader(length: length, sequence: UInt64(number))
        Content.append(
            Content.Identity(sender: peers[peer].identity, number: number, length: UInt32(length), content: number),
            to: &peers[peer].outgoing
        )
    }

    /// A receiver has accepted a connection: what it says first.
    func beginReceiving(_ peer: Int) {
        guard case .hostileReceiver(let kind) = peers[peer].role else { return coverage.count(.plainReceiver) }
        coverage.count(.hostileReceiver)
        switch kind {
        case .endAtOnce: endPeer(peer, reset: false)
        case .resetAtOnce: endPeer(peer, reset: true)
        default: if peers[peer].expectedTokenCount == 0 { beginHostileReceiving(peer, kind) }
        }
        writeForPeer(peer)
    }

    private func beginHostileReceiving(_ peer: Int, _ kind: HostileReceiving) {
        let hello = ControlRequest.hello(ControlRequest.Hello(wants: [.frames, .audio])).encoded()
        switch kind {
        case .wrongToken:
            coverage.count(.wrongToken)
            peers[peer].outgoing += peers[peer].token.map { $0 ^ 1 }
            return
        case .halfToken:
            peers[peer].outgoing += peers[peer].token.prefix(peers[peer].token.count / 2)
            peers[peer].leavesWhenWritten = peers[peer].random.chance(50)
            return
        default:
            peers[peer].outgoing += peers[peer].token
        }
        switch kind {
        case .pingFlood, .pingFloodUnread:
            peers[peer].outgoing += hello
            peers[peer].floodRemaining = peers[peer].random.chance(15) ? 60_000 : 3_000
            peers[peer].readsNothing = kind == .pingFloodUnread
        case .helloFlood, .unknownRequests:
            peers[peer].floodRemaining = peers[peer].random.chance(15) ? 60_000 : 3_000
        case .garbage:
            peers[peer].outgoing += peers[peer].random.chance(50) ? hello : []
            peers[peer].outgoing += WireBytes.garbage
        case .endlessHeader: peers[peer].floodRemaining = 5_000
        case .helloThenEnd:
            peers[peer].outgoing += hello
            peers[peer].leavesWhenWritten = true
        case .stopThenEnd, .stopThenReset:
            peers[peer].outgoing += hello
            // Those that are read before the stop are answered, which fails if the receiver has gone.
            let pings = peers[peer].random.pick(0, 0, 1, 20, 60)
            for number in 0..<pings { peers[peer].outgoing += ControlRequest.ping(UInt64(number)).encoded() }
            peers[peer].outgoing += ControlRequest.stop(.requestedByHost).encoded()
            peers[peer].leavesWhenWritten = kind == .stopThenEnd
            if kind == .stopThenReset {
                writeForPeer(peer)
                endPeer(peer, reset: true)
            }
        case .readsNothing:
            peers[peer].readsNothing = true
            if peers[peer].random.chance(50) { peers[peer].outgoing += hello }
        case .oneByteAtATime: peers[peer].floodRemaining = 200
        case .tokenThenEnd: peers[peer].leavesWhenWritten = true
        case .requestsBehindToken:
            peers[peer].outgoing += hello + ControlRequest.ping(1).encoded() + ControlRequest.refresh.encoded()
        case .everyRequest, .sharedReleasesOfNothing: peers[peer].floodRemaining = 3_000
        case .sharedNeverReleased:
            peers[peer].outgoing +=
                ControlRequest.hello(ControlRequest.Hello(wants: [.frames], sharedMemory: 1)).encoded()
        case .badPreferences:
            peers[peer].outgoing += hello
            peers[peer].floodRemaining = 2_000
        case .endAtOnce, .resetAtOnce, .wrongToken, .halfToken: break
        }
    }

    /// Makes the next part of a flood.
    func makeFlood(_ peer: Int) {
        guard peers[peer].floodRemaining > 0 else { return }
        let unit: [UInt8]
        switch peers[peer].role {
        case .hostileSender(let kind): unit = floodUnit(kind, peer)
        case .hostileReceiver(let kind): unit = floodUnit(kind, peer)
        default: return peers[peer].floodRemaining = 0
        }
        let count = max(1, min(peers[peer].floodRemaining, 4_000) / max(1, unit.count))
        for _ in 0..<count { peers[peer].outgoing += unit }
        peers[peer].floodRemaining -= min(peers[peer].floodRemaining, max(1, count * unit.count))
    }

    private func floodUnit(_ kind: HostileSending, _ peer: Int) -> [UInt8] {
        switch kind {
        case .unknownMessagesWithoutBody, .oneByteAtATime: return WireBytes.unknownWithoutBody
        case .unknownMessagesOfOneByte: return WireBytes.unknownOfOneByte
        case .statusFlood: return WireBytes.status
        case .audioFlood: return WireBytes.audio
        case .emptyFrames: return WireBytes.emptyFrame
        case .endlessHeader: return WireBytes.endlessHeader
        case .garbage: return WireBytes.garbage
        default:
            // Frames that are whole, so that they are delivered and have to be in order.
            peers[peer].lastNumber += 1
            let number = peers[peer].lastNumber
            var bytes = WireBytes.frameHeader(length: 64, sequence: UInt64(number))
            let identity = Content.Identity(sender: peers[peer].identity, number: number, length: 64, content: number)
            Content.append(identity, to: &bytes)
            return bytes
        }
    }

    private func floodUnit(_ kind: HostileReceiving, _ peer: Int) -> [UInt8] {
        switch kind {
        case .pingFlood, .pingFloodUnread: return ControlRequest.ping(peers[peer].random.next()).encoded()
        case .unknownRequests: return WireBytes.unknownRequest
        case .badPreferences:
            return peers[peer].random.chance(50)
                ? WireBytes.badPreference : ControlRequest.prefer(ControlRequest.Preferences(quality: 100)).encoded()
        case .sharedReleasesOfNothing:
            switch peers[peer].random.below(8) {
            case 0, 1: return ControlRequest.hello(ControlRequest.Hello(wants: [.frames], sharedMemory: 1)).encoded()
            case 2: return peers[peer].random.chance(10) ? ControlRequest.decline.encoded() : []
            default: return ReleaseRequest(buffer: peers[peer].random.below(8)).encoded()
            }
        case .endlessHeader: return WireBytes.endlessRequest
        case .everyRequest:
            switch peers[peer].random.below(6) {
            case 0: return ControlRequest.hello(ControlRequest.Hello(wants: [.frames])).encoded()
            case 1: return ControlRequest.pause.encoded()
            case 2: return ControlRequest.resume.encoded()
            case 3: return ControlRequest.refresh.encoded()
            case 4: return ControlRequest.prefer(ControlRequest.Preferences(frameRateInMillihertz: 5_000)).encoded()
            default: return ControlRequest.ping(peers[peer].random.next()).encoded()
            }
        default: return ControlRequest.hello(ControlRequest.Hello(wants: [.frames, .audio])).encoded()
        }
    }
}
