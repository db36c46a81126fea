import Foundation
import FrameSocket
import TestSupport

/// One who connects, in a process of its own: of one kind, for a time.
struct Peer {
    /// What peers do.
    enum Kind: String, CaseIterable, Sendable {
        // Honest ones, all of whose frames must arrive until the host ends the connection.
        case video, images, talker, flapper, doomed, sharer, doomedSharer
        // Ones that stall or lie.
        case silent, garbage, cut, lengths, claims, hugeClaims, slow, poison, mutant, stranger, passer

        /// Those that are killed at some time.
        var isDoomed: Bool { self == .doomed || self == .doomedSharer }
    }

    let kind: Kind
    let endpoint: SocketEndpoint
    let tokens: HandshakeTokens?
    let seconds: Double
    var random: SplitMix

    /// The token of both sides, at the endpoint that wants one.
    static let tokens = HandshakeTokens(shared: Array("the soak's own".utf8))

    /// From the arguments that ``arguments(_:at:hasTokens:seed:seconds:)`` makes.
    init?(_ arguments: [String]) {
        guard arguments.count == 5, let kind = Kind(rawValue: arguments[0]), let seed = UInt64(arguments[3]),
            let seconds = Double(arguments[4])
        else { return nil }
        self.kind = kind
        self.seconds = seconds
        endpoint = .path(arguments[1])
        tokens = arguments[2] == "tokens" ? Self.tokens : nil
        random = SplitMix(seed: seed)
    }

    static func arguments(_ kind: Kind, at path: String, hasTokens: Bool, seed: UInt64, seconds: Double) -> [String] {
        ["peer", kind.rawValue, path, hasTokens ? "tokens" : "-", String(seed), String(seconds)]
    }

    /// Does what its kind does, until its time is over or the host has had enough of it.
    func run() async {
        var peer = self
        let deadline = ContinuousClock.now + .seconds(seconds)
        switch kind {
        case .video, .doomed, .talker: await peer.sendFrames(until: deadline)
        case .images, .sharer, .doomedSharer:
            await peer.sendImages(sharesMemory: kind != .images, until: deadline)
        case .flapper: await peer.flap(until: deadline)
        default: await peer.lie(until: deadline)
        }
    }

    func connection() -> SocketConnection {
        var configuration = SocketConnection.Configuration()
        configuration.tokens = tokens
        configuration.reopens = false
        return SocketConnection(to: endpoint, configuration: configuration)
    }
}
