extension FrameServer {
    /// Why a sender was refused; every refusal is counted in ``refusedConnections``.
    package enum Refusal: Sendable {
        /// It belongs to this user, who may not connect; nil if the system does not identify the user.
        case peer(userID: UInt32?)
        /// It did not send the right token, or not in time.
        case token(TransportError)
        /// There is no place for it.
        case full
    }
}
