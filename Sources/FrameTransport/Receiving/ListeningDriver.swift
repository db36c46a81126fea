/// The listening side of a ``FrameServer``, as the I/O thread drives it.
///
/// - Note: `@unchecked Sendable` holds because everything that changes is touched on the I/O thread alone; other threads
///   reach it through ``IOThread/execute(_:)``.
final class ListeningDriver: IOHandler, @unchecked Sendable {
    let mailbox = Mailbox<FrameConnection>(capacity: .max, overflow: .refused)
    let closed = Latch<Void>()
    let refused = Counter()

    private let configuration: FrameServer.Configuration
    private var delegate: (any FrameServerDelegate)?
    private var socket: ListeningSocket?
    private var registration: IORegistration?
    private var connections: [Int: ReceivingDriver] = [:]
    private var lastConnection = 0
    private var pauses: Backoff

    /// How many connections one turn may accept.
    private static let acceptsPerTurn = 64

    init(
        _ socket: consuming ListeningSocket,
        configuration: FrameServer.Configuration,
        delegate: (any FrameServerDelegate)?
    ) {
        self.socket = consume socket
        self.configuration = configuration
        self.delegate = delegate
        let limits = configuration.limits
        pauses = Backoff(first: limits.firstAcceptPause, longest: limits.longestAcceptPause)
    }

    func start() {
        guard let descriptor = socket?.rawValue else { return }
        do {
            registration = try configuration.thread.register(descriptor, self)
        } catch {
            end(TransportError(.system, systemError: error, "the listening socket cannot be watched"))
        }
    }

    func close() {
        end(nil)
        for connection in connections.values { connection.close() }
    }

    /// Stops to listen, and lets each connection come to its end.
    func drain() {
        // Who has come to an inherited socket waits there for the next process.
        if socket?.isOwn == true { acceptAll() }
        end(nil)
        for connection in connections.values { connection.drain() }
    }

    // MARK: IOHandler

    func becameReady(_ readiness: Readiness) {
        // Whoever comes in a pause waits for its end, or a crowd of them would make it none.
        if registration?.deadline == nil { acceptAll() }
    }

    /// The pause after a shortage is over.
    func deadlinePassed() {
        acceptAll()
    }

    // MARK: Accepting

    /// Takes who has come; where that never ends the connections have their turns in between.
    private func acceptAll() {
        for _ in 0..<Self.acceptsPerTurn {
            guard let listener = socket?.rawValue else { return }
            do {
                admit(try Syscalls.accept(from: listener))
                pauses.reset()
            } catch .again {
                return
            } catch .aborted {
                continue
            } catch  where error.isMisuse {
                return end(TransportError(.system, systemError: error, "no more connections can be accepted"))
            } catch {
                // A shortage of descriptors or memory, as a rule: the connection stays in the backlog, and trying again
                // at once would only spin.
                registration?.deadline = MonotonicClock.deadline(in: pauses.next())
                return
            }
        }
        configuration.thread.execute { self.acceptAll() }
    }

    private func admit(_ descriptor: consuming OwnedDescriptor) {
        // Over TCP the system knows of nobody, and whoever shows the right token may connect.
        var peer: PeerCredentials?
        if case .path(let path) = socket?.endpoint {
            peer = try? configuration.peers.admit(descriptor.rawValue, at: path)
            guard peer != nil else { return refused.increment() }
        }
        guard connections.count < configuration.limits.connections else { return refused.increment() }
        lastConnection += 1
        let id = lastConnection
        let driver = ReceivingDriver(descriptor, id: id, configuration: configuration)
        connections[id] = driver
        configuration.tap?.connectionDidOpen(id)
        driver.start(
            onReady: { [weak self] in self?.present(FrameConnection(id: id, peer: peer, driver: driver), driver) },
            onClosed: { [weak self] in self?.ended(id) }
        )
    }

    /// Gives out a connection, now that its sender has shown its token where one is wanted.
    private func present(_ connection: FrameConnection, _ driver: ReceivingDriver) {
        guard let delegate else {
            mailbox.put(connection)
            return
        }
        delegate.connectionDidOpen(connection)
        driver.deliver(
            to: { frame in delegate.connection(connection, didReceive: frame) },
            end: { reason in delegate.connection(connection, didCloseFor: reason) }
        )
    }

    // MARK: Ending

    private func ended(_ id: Int) {
        configuration.tap?.connectionDidClose(id)
        if let driver = connections.removeValue(forKey: id), !driver.isReady { refused.increment() }
        settle()
    }

    private func end(_ error: TransportError?) {
        registration?.cancel()
        registration = nil
        socket = nil
        delegate = nil
        mailbox.end(error)
        settle()
    }

    private func settle() {
        if socket == nil, connections.isEmpty { closed.set(()) }
    }
}
