import Foundation
import FrameSocket
import Synchronization
import TestSupport

/// The side that is measured: takes whoever comes, checks what can be checked, and treats peers as hosts may.
final class Host: Sendable {
    private struct State {
        /// What came of it so far.
        var tally: [String: Int] = [:]
        var open = 0
        var faults: [String] = []
    }

    private let state = Mutex(State())
    private let servers: [FrameServer]
    private let decoder = FrameDecoder()
    private let seed: UInt64

    /// Listens at `path`, and with tokens at `path` and a `t`.
    init(at path: String, seed: UInt64) throws(TransportError) {
        var configuration = FrameServer.Configuration()
        configuration.limits.firstFrameTimeout = .seconds(5)
        configuration.limits.headerTimeout = .seconds(1)
        configuration.limits.bodyTimeout = .seconds(5)
        configuration.limits.handshakeTimeout = .seconds(2)
        configuration.limits.maximumConnections = 16
        configuration.acceptsSharedMemory = true
        // Small, so that what a pool keeps is not taken for growth.
        configuration.pool = FrameBytes.Pool(maximumIdleBytes: 16 << 20)
        let plain = try FrameServer(at: path, configuration: configuration)
        configuration.tokens = Peer.tokens
        configuration.delivery = .newest
        servers = [plain, try FrameServer(at: path + "t", configuration: configuration)]
        self.seed = seed
    }

    var tally: [String: Int] { state.withLock { $0.tally } }
    var openConnections: Int { state.withLock { $0.open } }
    /// What was not as it must be, the first of it.
    var faults: [String] { state.withLock { $0.faults } }

    /// Takes connections until it is closed.
    func run() async {
        await withDiscardingTaskGroup { group in
            for server in servers {
                group.addTask {
                    await withDiscardingTaskGroup { connections in
                        do throws(TransportError) {
                            for try await connection in server.connections {
                                self.state.withLock { $0.open += 1 }
                                connections.addTask { await self.serve(connection) }
                            }
                        } catch {
                            self.note("a server ended: \(error)")
                        }
                    }
                }
            }
        }
    }

    func close() async {
        for server in servers {
            server.close()
            try? await server.closed()
        }
    }

    func note(_ fault: String) {
        state.withLock { if $0.faults.count < 20 { $0.faults.append(fault) } }
    }

    // MARK: One connection

    private func serve(_ connection: FrameConnection) async {
        var visit = Visit(connection, random: SplitMix(seed: seed &+ UInt64(connection.id) &* 7919))
        async let sounds = takeSound(of: connection)
        async let statuses = takeStatuses(of: connection)
        if visit.manner == .onThread {
            let decided = visit
            visit = await Task(executorPreference: connection.thread) { await self.take(decided) }.value
        } else {
            visit = await take(visit)
        }
        // In a task of its own, which nobody cancels.
        let reason = await Task { try? await connection.closed() }.value ?? .closedLocally(.stoppedByUser)
        if let fault = visit.fault(reason) { note(fault) }
        let end = "ended by \(reason.error?.wireError?.code.rawValue ?? reason.name)"
        let tally = await visit.tally.merging(["sounds": sounds, "statuses": statuses, end: 1], uniquingKeysWith: +)
        state.withLock {
            $0.open -= 1
            $0.tally.merge(tally, uniquingKeysWith: +)
        }
    }

    private func take(_ visit: Visit) async -> Visit {
        var visit = visit
        visit.begin()
        do {
            for try await frame in visit.connection.frames {
                if frame.shared != nil {
                    visit.checkShared(frame, decoder)
                } else {
                    visit.check(frame, isEachDelivered: visit.connection.statistics.supersededFrames == 0)
                    if frame.bufferSize.height > 1 { visit.decode(frame, decoder) }
                }
                guard await visit.goesOn() else { break }
            }
        } catch {
            // It is the connection's reason for ending as well.
        }
        if visit.isEndedHere { visit.connection.close() }
        visit.releaseKept()
        return visit
    }

    private func takeSound(of connection: FrameConnection) async -> Int {
        var count = 0
        for await message in connection.audio {
            count += 1
            let hash = message.bytes.withSpan { Content.hash($0) }
            if hash != message.timestamp { note("torn sound \(message.sequence ?? 0) of connection \(connection.id)") }
        }
        return count
    }

    private func takeStatuses(of connection: FrameConnection) async -> Int {
        var count = 0
        for await _ in connection.statuses { count += 1 }
        return count
    }
}
