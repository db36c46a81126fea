internal import FrameWire

/// What the server says back, and the answers to it.
extension ConnectingDriver {
    /// Takes what the server said.
    ///
    /// A server that said hello keeps to the requests, or the connection has failed. One that did not owes nothing: what it
    /// says is read and dropped, as deployed senders do.
    func take(_ bytes: Span<UInt8>) {
        // While this side ends the connection it reads only to see the server's end.
        guard case .open = state else { return }
        var offset = 0
        do throws(WireError) {
            while offset < bytes.count, case .open = state,
                let step = try requestDecoder?.decode(bytes.extracting(offset...))
            {
                offset += step.consumed
                switch step.event {
                case .request(let request): take(request)
                case .skipped: control.skip()
                case .incomplete, .body: break
                }
            }
        } catch {
            guard control.hello == nil else { return end(.failed(TransportError(error))) }
            control.skip()
            requestDecoder = nil
        }
    }

    private func take(_ request: ControlRequest) {
        if case .hello = request {} else if control.hello == nil { return control.skip() }
        // First: whoever hears of a wish may act on it at once.
        switch request {
        case .hello(let hello): lane.setWants(hello.wants)
        case .pause: lane.setPaused(true)
        case .resume: lane.setPaused(false)
        case .stop, .prefer, .refresh, .ping: break
        }
        terms.change { terms in
            switch request {
            case .hello(let hello): terms.wants = hello.wants
            case .pause: terms.isPaused = true
            case .resume: terms.isPaused = false
            case .prefer(let preferences): terms.preferences = preferences
            case .refresh: terms.refreshes += 1
            case .stop, .ping: break
            }
        }
        control.take(request)
        switch request {
        case .hello, .pause, .resume:
            answer()
        case .ping(let number):
            answer(pong: number)
        case .stop(let reason):
            if case .open(let socket) = state { endInOrder(socket, .closedByPeer(reason)) }
        case .prefer, .refresh:
            break
        }
    }

    /// Tells the receiver, which has said hello, how this side stands.
    private func answer(pong: UInt64? = nil) {
        let status = SenderStatus(state: lane.isPaused ? .paused : .live, pong: pong)
        switch lane.send(.status(status)) {
        case .broken?: endIfBroken()
        case .waiting?: watchProgress()
        case .sent?, nil: break
        }
    }
}
