#if os(Linux)
    import Foundation
    import FrameTransport
    import FrameWire
    import Synchronization
    import TestSupport
    import Testing

    private let environment = ProcessInfo.processInfo.environment
    private let breaksConnections = environment["FAULTS"]?.contains("econnreset") == true

    /// What an application sees where the system fails in ways that cannot be hidden: frames or one typed error.
    ///
    /// Run by `make faults`, under the library of Tests/Faults, which lets connections break, memory run out and servers
    /// be busy; without it there is nothing to see.
    @Suite(.enabled(if: breaksConnections, "make faults breaks connections"), .timeLimit(.minutes(5))) struct FaultTests
    {
        private static let seed = UInt64(environment["FAULTS_SEED"] ?? "") ?? 0

        private static let senderCount = 3
        private static let frameCount = 60

        /// What either side may be told: nothing but these.
        private static let senderCodes: Set<TransportError.Code> = [.connectionLost, .closed, .tokenRejected]
        private static let receiverCodes: Set<TransportError.Code> = [.connectionLost, .malformedMessage]

        /// The body of each sender's frames, made once: a sender may need thousands of attempts for its last one.
        private static let bodies: [UInt64: [UInt8]] = {
            let numbers = (0..<senderCount).flatMap { sender in
                (0..<frameCount).map { UInt64(sender * frameCount + $0) } + [last(of: sender)]
            }
            return Dictionary(
                uniqueKeysWithValues: numbers.map { number in
                    let seed = number & 0xFFFF
                    return (number, body(Int(seed), count: 1 + Int(seed * 7919 % 200_000)))
                }
            )
        }()

        private static func bytes(_ number: UInt64) -> [UInt8] { bodies[number] ?? [] }

        /// The number of a sender's last frame.
        private static func last(of sender: Int) -> UInt64 { .max - UInt64(sender) }

        /// Shows P90.
        @Test(arguments: [nil, HandshakeTokens(shared: Array("a token".utf8))])
        func `a fault leads to frames or one typed error, none torn, none twice, and nothing left open`(
            tokens: HandshakeTokens?
        )
            async throws
        {
            // The first round makes what stays: the thread, the pools, what Dispatch has.
            _ = try await Self.transfer(tokens)
            let before = try await descriptorsAtStart()
            let outcome = try await Self.transfer(tokens)
            #expect(await becomesTrue { descriptorsAdded(to: before).isEmpty }, "\(descriptorsAdded(to: before))")
            #expect(outcome.received > 0 && outcome.failed > 0, "seed \(Self.seed): \(outcome)")
        }

        struct Outcome: Sendable {
            var received = 0
            var failed = 0
        }

        /// Sends frames by several senders, each of which goes on until the receiver has got its last one.
        private static func transfer(_ tokens: HandshakeTokens?) async throws -> Outcome {
            let directory = try TemporaryDirectory()
            let received = Received()
            let receiving = Task {
                while !Task.isCancelled {
                    // A server that cannot be made, or fails, is made again.
                    guard let server = try? directory.server({ $0.tokens = tokens }) else { continue }
                    await serve(server, received)
                    server.close()
                    // In a task of its own: this one may have been cancelled, and nothing is to be left open.
                    try? await Task { try await server.closed() }.value
                }
            }
            let failed = try await withThrowingTaskGroup(of: Int.self) { group in
                for sender in 0..<senderCount {
                    group.addTask { try await send(as: sender, directory, tokens, received) }
                }
                return try await group.reduce(0, +)
            }
            receiving.cancel()
            await receiving.value
            return Outcome(received: received.count, failed: failed)
        }

        private static func send(
            as sender: Int,
            _ directory: TemporaryDirectory,
            _ tokens: HandshakeTokens?,
            _ received: Received
        ) async throws -> Int {
            let connection = directory.connection { $0.tokens = tokens }
            var failed = 0
            let numbers = (0..<frameCount).map { UInt64(sender * frameCount + $0) }
            // Until one gets through that comes after all others.
            for number in numbers + repeatElement(last(of: sender), count: 10_000) {
                do throws(TransportError) {
                    try await connection.open(within: nil)
                    try await connection.send(FrameMessage(bytes(number), sequence: number))
                } catch {
                    #expect(senderCodes.contains(error.code), "seed \(seed): \(error)")
                    failed += 1
                }
                if number > numbers[frameCount - 1], received.has(number) { break }
            }
            connection.close()
            _ = try await connection.closed()
            return failed
        }

        private static func serve(_ server: FrameServer, _ received: Received) async {
            await withTaskGroup(of: Void.self) { group in
                do throws(TransportError) {
                    for try await connection in server.connections {
                        group.addTask { await receive(from: connection, received) }
                    }
                } catch {
                    #expect(error.code == .system, "seed \(seed): \(error)")
                }
            }
        }

        private static func receive(from connection: FrameConnection, _ received: Received) async {
            var last: UInt64?
            do throws(TransportError) {
                for try await frame in connection.frames {
                    guard let number = frame.sequence else {
                        Issue.record("seed \(seed): a frame without its number")
                        continue
                    }
                    let padded = bytes(number)
                    let zeroes = [UInt8](repeating: 0, count: max(0, 10_240 - padded.count))
                    #expect(Data(frame.bytes) == Data(padded + zeroes), "seed \(seed): frame \(number) is torn")
                    #expect(last.map { $0 < number || number > UInt64.max - 16 } ?? true, "seed \(seed)")
                    #expect(received.insert(number) || number > UInt64.max - 16, "seed \(seed): \(number) came twice")
                    last = number
                }
                #expect(Task.isCancelled || connection.closeReason?.error == nil, "seed \(seed)")
            } catch {
                #expect(receiverCodes.contains(error.code), "seed \(seed): \(error)")
                #expect(connection.closeReason == .failed(error), "seed \(seed)")
            }
        }

        /// The numbers of the frames that have come.
        private final class Received: Sendable {
            private let numbers = Mutex<Set<UInt64>>([])

            var count: Int { numbers.withLock { $0.count } }

            func has(_ number: UInt64) -> Bool {
                numbers.withLock { $0.contains(number) }
            }

            func insert(_ number: UInt64) -> Bool {
                numbers.withLock { $0.insert(number).inserted }
            }
        }
    }
#endif
