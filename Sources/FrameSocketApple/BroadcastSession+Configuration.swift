public import FrameSocket

extension BroadcastSession {
    /// The configuration of a broadcast.
    public struct Configuration: Sendable {
        /// The configuration of the connection: the tokens, whether audio is offered, and more.
        ///
        /// Default: that of a `SocketConnection`, except that it does not reconnect: deployed apps end a broadcast by
        /// closing the connection.
        public var connection: SocketConnection.Configuration

        /// Which frames are sent, and at what size and quality.
        ///
        /// Default: every third frame (20 per second of a screen at 60) and half the size, as in Jitsi, with quality 80; the
        /// latest image is not kept beside its JPEG. The system ends a broadcast extension that uses more than 50 MB, of which
        /// the process itself needs about 10.
        public var uploader: SampleUploader.Configuration

        /// Where the app listens, in place of the socket in the App Group: another path, or a port of this device.
        ///
        /// Default: nil. A port needs `connection.tokens`.
        public var endpoint: SocketEndpoint?

        /// The time without an app after which the broadcast ends with `noHost`, at its beginning and after a disconnect.
        ///
        /// Default: 30 s; nil to wait forever, as Jitsi's handler does.
        public var hostTimeout: Duration? = .seconds(30)

        /// The notification that is shown if no app is reached soon; see ``HostNotice``.
        ///
        /// Default: nil.
        public var hostNotice: HostNotice?

        /// The values that the person chose before the broadcast began; a `SampleHandler` sets them.
        ///
        /// Default: none. An app that says hello gets them, as `FrameConnection.info`, unless `connection.info` has a value
        /// for the same key. A text that a `ControlRequest.SessionInfo` cannot have, and what exceeds 16 values
        /// or 4,096 bytes in the order of the keys, is left out there.
        public var values = BroadcastValues()

        /// Whether a broadcast that either side meant to end does so without an alert.
        ///
        /// Default: false: an extension can end a broadcast only with an error, which the system shows. With true, a
        /// `SampleHandler` calls ReplayKit's method with nil in place of an error, as other kits do from Objective-C. Apple
        /// documents no such call, so a later system may show an empty alert, ignore it, or end the extension. Failures
        /// are always shown.
        public var endsQuietly = false

        /// The configuration of the connection, which states the values, and that there is audio.
        var statingConnection: SocketConnection.Configuration {
            var connection = connection
            for (key, text) in values.texts.sorted(by: { $0.key < $1.key }) where connection.info[key] == nil {
                try? connection.info.set(text, for: key)
            }
            connection.info.offersAudio = connection.info.offersAudio ?? true
            return connection
        }

        /// Creates a configuration with the defaults.
        public init() {
            connection = SocketConnection.Configuration()
            connection.reopens = false
            uploader = SampleUploader.Configuration(scale: .half, pacing: .every(3), keepsLatestImage: false)
        }
    }
}
