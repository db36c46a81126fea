import FrameSocket
import TestSupport

/// One connection as the host goes about it, and what it has seen of it.
struct Visit: Sendable {
    /// How the host treats a peer.
    enum Manner: CaseIterable, Sendable {
        /// Takes all, as it comes.
        case plain
        /// The same on the thread that reads the socket.
        case onThread
        /// Takes its time over each frame.
        case slow
        /// Stops reading for a while.
        case stalling
        /// Ends the connection after a few frames.
        case leaving
        /// Asks for sound, and then for anything at any time.
        case asking
        /// Keeps images in shared memory, and looks at them again before it releases them.
        case keeping
    }

    let connection: FrameConnection
    let manner: Manner
    /// What it has seen, and how often.
    private(set) var tally: [String: Int] = [:]
    private(set) var isEndedHere = false
    private var random: SplitMix
    private var isDoomed = false
    private var last: UInt64?
    private var torn: UInt64?
    private var kept: [(image: PixelBuffer, hash: UInt64, number: UInt64)] = []

    init(_ connection: FrameConnection, random: SplitMix) {
        self.connection = connection
        self.random = random
        manner = Manner.allCases.randomElement(using: &self.random) ?? .plain
    }

    private mutating func count(_ what: String, _ number: Int = 1) { tally[what, default: 0] += number }

    /// Says what the host wants, where it wants something.
    func begin() {
        if manner == .asking { connection.send(.hello(ControlRequest.Hello(wants: [.frames, .audio]))) }
    }

    /// Compares a frame with the hash that its sender states, and its number with the one before.
    mutating func check(_ frame: Frame, isEachDelivered: Bool) {
        guard frame.bufferSize.height == 1, let hash = frame.timestamp, let number = frame.sequence else {
            return count("other frames")
        }
        isDoomed = frame.bufferSize.width == Content.doomedWidth
        guard let jpeg = frame.jpeg else { return }
        let isWhole = jpeg.withSpan { Content.hash($0) } == hash
        let isNext = isEachDelivered ? number == last.map { $0 + 1 } ?? 0 : last.map { number > $0 } ?? true
        if !isWhole || !isNext { torn = torn ?? number }
        last = number
        count("frames checked")
        count("bytes checked", jpeg.count)
    }

    /// Compares an image in shared memory with the hash that its sender states, and its number with the one before.
    mutating func checkShared(_ frame: Frame, _ decoder: FrameDecoder) {
        guard let hash = frame.timestamp, let number = frame.sequence,
            let image = try? decoder.decode(frame, as: .bgra).image
        else {
            torn = torn ?? frame.sequence ?? 0
            return
        }
        isDoomed = frame.orientation == Content.doomedOrientation
        // A host that asks may have asked for another size, at which the hash is another one too.
        let isWhole = manner == .asking || Content.isWhole(image, hash: hash)
        // A frame may be repeated, and a newer one may have replaced others.
        if !isWhole || last.map({ number < $0 }) ?? false { torn = torn ?? number }
        last = number
        count("shared frames checked")
        guard manner == .keeping else { return }
        kept.append((image, hash, number))
        if kept.count > 2 { releaseFirst() }
    }

    /// Releases what is kept.
    mutating func releaseKept() {
        while !kept.isEmpty { releaseFirst() }
    }

    private mutating func releaseFirst() {
        let (image, hash, number) = kept.removeFirst()
        if !Content.isWhole(image, hash: hash) { torn = torn ?? number }
    }

    mutating func decode(_ frame: Frame, _ decoder: FrameDecoder) {
        do {
            _ = try decoder.decode(frame, as: .bgra)
            count("decoded")
        } catch {
            count("undecodable")
        }
    }

    /// What the host does after a frame; false if it has enough.
    mutating func goesOn() async -> Bool {
        switch manner {
        case .plain, .onThread, .keeping:
            break
        case .slow:
            try? await Task.sleep(for: .milliseconds(15))
        case .stalling:
            if random.next() % 30 == 0 { try? await Task.sleep(for: .milliseconds(800)) }
        case .leaving:
            isEndedHere = random.next() % 20 == 0
        case .asking:
            ask()
        }
        return !isEndedHere
    }

    private mutating func ask() {
        switch random.next() % 12 {
        case 0: connection.send(.ping(random.next() >> 1))
        case 1:
            connection.send(.prefer(ControlRequest.Preferences(size: BufferSize(width: 320, height: 200), quality: 50)))
        case 2: connection.send(.refresh)
        case 4 where random.next() % 40 == 0: connection.send(.decline)
        case 3:
            connection.send(.pause)
            connection.send(.resume)
        default: break
        }
    }

    /// What went wrong; nil if nothing did.
    func fault(_ reason: CloseReason) -> String? {
        if let torn { return "connection \(connection.id), \(manner): frame \(torn) is torn or out of place" }
        // Of a peer that sends checked frames nothing may fail, unless it is one that is killed.
        guard last != nil, !isDoomed, !isEndedHere, let error = reason.error else { return nil }
        return "connection \(connection.id), \(manner): \(error)"
    }
}
