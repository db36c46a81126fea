package import FrameWire

/// The terms of a sender's connection: what the receiver has stated, and what the connection allows.
///
/// Terms last exactly as long as the receiver: they start from the defaults when a connection opens, and are discarded
/// when it ends. Every value is a complete snapshot, so an observer that misses one loses nothing.
package struct ReceiverTerms: Sendable, Hashable {
    /// The number of changes; of two snapshots the one with the higher revision is newer.
    package var revision: UInt64 = 0

    /// The number of the connection, counted from 1 over the life of a `SocketConnection`; 0 before the first.
    package var connection = 0

    /// Whether the connection is open.
    package var isConnected = false

    /// What the receiver wants; a receiver that sent no hello wants frames.
    package var wants = ControlRequest.Wants.frames

    /// Whether the receiver has requested a pause.
    package var isPaused = false

    /// The receiver's preferences.
    package var preferences = ControlRequest.Preferences()

    /// The number of immediate frames that this receiver has requested.
    package var refreshes = 0

    /// Whether the receiver has sent a hello.
    package var isGreeted = false

    /// Whether frames can be sent in shared memory if the receiver accepts them: known as soon as the connection opens.
    package var mayShareMemory = false

    /// Whether the receiver accepts frames in shared memory.
    package var acceptsSharedMemory = false

    /// The number of releases of each shared buffer, modulo 2^32.
    package var releases = SIMD8<UInt32>()

    /// The current demand: nothing without a receiver, or during a pause.
    package var demand: ControlRequest.Wants { isConnected && !isPaused ? wants : [] }

    package init() {}
}
