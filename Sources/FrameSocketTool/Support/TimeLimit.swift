/// The limits of time that no option sets, such as how long the end waits for a reader that does not read.
enum TimeLimit {
    #if DEBUG
        /// Tests shorten the limits that they wait for, and extend those that a busy machine must not exceed.
        private static let scale = ServiceManager.value("FRAMESOCKET_TIME_SCALE").flatMap { Double($0) } ?? 1
    #else
        private static let scale = 1.0
    #endif

    /// Returns a limit, or in tests a multiple of it.
    static func of(_ limit: Duration) -> Duration {
        limit * scale
    }
}
