package import FrameWire

/// What the receiver at the other end of a sender's connection has stated.
///
/// Terms live exactly as long as that receiver: they start from the defaults when a connection opens, and are gone when
/// it ends. Each value is a complete snapshot, so an observer that misses one loses nothing.
package struct ReceiverTerms: Sendable, Hashable {
    /// Counts the changes: of two snapshots the one with the higher revision is the newer.
    package var revision: UInt64 = 0

    /// The number of the connection, counted from 1 over the life of a `SocketConnection`; 0 before the first.
    package var connection = 0

    /// Whether the connection is open.
    package var isConnected = false

    /// What the receiver wants; one that did not say hello wants frames.
    package var wants = ControlWants.pictures

    /// Whether the receiver has asked for a pause.
    package var isPaused = false

    /// What the receiver prefers.
    package var preferences = ControlPreferences()

    /// How many times this receiver has asked for a frame now.
    package var refreshes = 0

    /// What is wanted at present: nothing without a receiver, or for one that has asked for a pause.
    package var demand: ControlWants { isConnected && !isPaused ? wants : [] }

    package init() {}
}
