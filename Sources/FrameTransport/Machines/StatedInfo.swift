internal import FrameWire

/// What a sender states about itself, over all connections, and what of it the present receiver is still to be told.
struct StatedInfo: Sendable {
    /// What the program states.
    private(set) var program: ControlRequest.SessionInfo
    /// The frame rate of the source in millihertz, stated unless the program states one.
    private var frameRate: Int?
    /// Whether the receiver asks for it.
    private var isWanted = false
    /// Whether the receiver is still to be told.
    private(set) var isOwed = false
    /// The size of the latest frame that was encoded for this connection.
    private var latestSize: BufferSize?
    /// The size that was stated last.
    private var statedSize: BufferSize?

    init(_ program: ControlRequest.SessionInfo) {
        self.program = program
    }

    /// Begins with a receiver that was told nothing.
    mutating func forgetReceiver() {
        withdraw()
        (latestSize, statedSize) = (nil, nil)
    }

    /// States nothing further on this connection.
    mutating func withdraw() { (isWanted, isOwed) = (false, false) }

    /// The receiver asks for it, or no longer does.
    mutating func setWanted(_ wanted: Bool) { (isWanted, isOwed) = (wanted, wanted) }

    /// Changes what the program states.
    ///
    /// - Parameters:
    ///   - program: What it states now.
    ///   - isOpen: Whether the connection still accepts messages, as for each of these changes.
    /// - Returns: Whether the receiver is to be told.
    mutating func change(to program: ControlRequest.SessionInfo, isOpen: Bool) -> Bool {
        guard program != self.program else { return false }
        self.program = program
        return owe(isOpen: isOpen)
    }

    /// Changes the frame rate of the source.
    mutating func change(frameRate: Int?, isOpen: Bool) -> Bool {
        guard frameRate != self.frameRate else { return false }
        self.frameRate = frameRate
        return program.frameRateInMillihertz == nil && owe(isOpen: isOpen)
    }

    /// Something else in it has changed.
    mutating func owe(isOpen: Bool) -> Bool {
        guard isWanted, isOpen else { return false }
        isOwed = true
        return true
    }

    /// A frame of this size is next: a receiver that asks is told another one first.
    @inline(__always)
    mutating func frameFollows(of size: BufferSize) {
        latestSize = size
        if isWanted, size != statedSize { isOwed = true }
    }

    /// What to state now.
    mutating func next(offersAudio: Bool) -> ControlRequest.SessionInfo {
        statedSize = latestSize
        var info = program
        info.size = latestSize ?? info.size
        info.frameRateInMillihertz = info.frameRateInMillihertz ?? frameRate
        if !offersAudio { info.offersAudio = false }
        return info
    }

    /// Its first byte is written.
    mutating func begun() { isOwed = false }
}
