/// A request from a receiver to its sender, sent on the same connection as the frames in the opposite direction.
///
/// No request requires an answer: existing Jitsi senders read and discard them.
public enum ControlRequest: Sendable, Hashable {
    /// `hello`: who the receiver is and what it wants; answered with a ``SenderStatus``, as later requests may be.
    case hello(Hello)
    /// `pause`: send neither frames nor audio.
    case pause
    /// `resume`: send again.
    case resume
    /// `stop`: end the session, for the reason in the field `Finish-Reason`.
    case stop(ControlRequest.FinishReason)
    /// `prefer`: the preferred frame rate, size, quality and rate of bytes.
    case prefer(Preferences)
    /// `refresh`: send a frame now, even if nothing has changed.
    case refresh
    /// `ping`: answer with this number, in the field `Ping-Number`.
    case ping(UInt64)
    /// `decline`: send no further frames in shared memory on this connection; every shared buffer is released.
    case decline
    /// `info`: what the receiver states about itself, once on a connection.
    case info(SessionInfo)

    /// The name in the request line, such as `hello`.
    public var name: String { wireName.rawValue }

    /// Returns the request in its wire format.
    public func encoded() -> [UInt8] {
        switch self {
        case .hello(let hello): wireName.request { _ = $0.read(hello) }
        case .stop(let reason): wireName.request { _ = $0.read(reason) }
        case .prefer(let preferences): wireName.request { _ = $0.read(preferences) }
        case .ping(var number): wireName.request { $0.code(.ping, &number) }
        case .info(let info): wireName.request(body: info.body)
        case .pause, .resume, .refresh, .decline: wireName.request()
        }
    }

    private var wireName: ControlName {
        switch self {
        case .hello: .hello
        case .pause: .pause
        case .resume: .resume
        case .stop: .stop
        case .prefer: .prefer
        case .refresh: .refresh
        case .ping: .ping
        case .decline: .decline
        case .info: .info
        }
    }
}

/// The names that request lines of this version have: those of a ``ControlRequest``, and of what connections say themselves.
package enum ControlName: String, CaseIterable {
    case hello, pause, resume, stop, prefer, refresh, ping, release, decline, info, discarded
}

// The fields of each request behind its length.

extension ControlRequest.Hello: WireFields {
    package mutating func code(with coder: inout some FieldCoder) {
        coder.code(.version, &version)
        var (frames, audio): (Bool?, Bool?) = (wants.contains(.frames), wants.contains(.audio))
        coder.code(.wantsPictures, &frames)
        coder.code(.wantsAudio, &audio)
        wants = frames == true ? .frames : []
        if audio == true { wants.insert(.audio) }
        coder.code(.sharedMemory, &sharedMemory)
        var asks: Bool? = wantsInfo ? true : nil
        coder.code(.wantsInfo, &asks)
        wantsInfo = asks == true
    }
}

extension ControlRequest.FinishReason: WireFields {
    package mutating func code(with coder: inout some FieldCoder) {
        var code = rawValue
        coder.code(.finishReason, &code)
        self = Self(rawValue: code) ?? self
    }
}

extension ControlRequest.Preferences: WireFields {
    package mutating func code(with coder: inout some FieldCoder) {
        coder.code(.preferredFrameRate, &frameRateInMillihertz)
        coder.code(.preferredWidth, .preferredHeight, &size)
        coder.code(.quality, &quality)
        coder.code(.byteRate, &byteRate)
    }
}

extension ControlRequest {
    /// Returns the request `release`: the sender may use the shared buffer with this index again.
    ///
    /// It is none of the cases, because a program does not send it: a connection does, when the program has released the
    /// last reference to the image in the buffer. A negative index is written as 0.
    package static func encodedRelease(of buffer: Int) -> [UInt8] {
        var buffer = buffer
        return ControlName.release.request { $0.code(.sharedBuffer, &buffer) }
    }
}

extension ControlRequest {
    /// The request `hello`, with which a receiver introduces itself; until then, a sender writes only frames.
    public struct Hello: Sendable, Hashable {
        /// The version of the control channel that this implementation supports: 1.
        public static let currentVersion = 1

        /// The version of the messages for shared memory that this implementation supports: 1.
        package static let sharedMemoryVersion = 1

        /// The version that the receiver supports, 1 to 9,999: the field `Control-Version`.
        public var version: Int

        /// What the receiver wants to be sent: the fields `Wants-Pictures` and `Wants-Audio`.
        public var wants: Wants

        /// The version of the messages for shared memory that the receiver accepts, 1 to 9,999; nil if it accepts none: the
        /// field `Shared-Memory`, which is omitted in that case.
        public var sharedMemory: Int?

        /// Whether the sender is to state its ``SessionInfo``: the field `Wants-Info`, which is omitted if false.
        ///
        /// A `FrameServer` sets it in every hello.
        public var wantsInfo: Bool

        /// Creates a hello without checking the values; a decoder may reject them.
        public init(
            version: Int = Hello.currentVersion,
            wants: Wants = .frames,
            sharedMemory: Int? = nil,
            wantsInfo: Bool = false
        ) {
            self.version = version
            self.wants = wants
            self.sharedMemory = sharedMemory
            self.wantsInfo = wantsInfo
        }
    }
}

extension ControlRequest {
    /// What a receiver wants to be sent.
    ///
    /// Members other than those defined here are not written to the wire.
    public struct Wants: OptionSet, Sendable, Hashable {
        /// The bits of the set, one for each member.
        public let rawValue: UInt8

        /// Creates a set from its bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Frames: the field `Wants-Pictures`.
        public static let frames = Self(rawValue: 1 << 0)

        /// Audio messages: the field `Wants-Audio`.
        public static let audio = Self(rawValue: 1 << 1)
    }
}

extension ControlRequest {
    /// The request `prefer`: a receiver's preferences for its frames.
    ///
    /// Each request replaces the previous one completely: a nil value leaves the choice to the sender, even if an earlier
    /// request stated a preference.
    public struct Preferences: Sendable, Hashable {
        /// The frame rate in millihertz, 1 to 1,000,000, which is 1 mHz to 1 kHz: the field `Prefer-Frame-Rate`.
        ///
        /// For example, 29.97 frames per second are 29,970, so the wire needs no fraction.
        public var frameRateInMillihertz: Int?

        /// The box that the frames should fit in, 1 to 16,384 on each side: `Prefer-Width` and `Prefer-Height`.
        ///
        /// A sender may rotate the box with the image: a `SampleUploader` sends 720x1280 of a portrait screen for 1280x720.
        public var size: BufferSize?

        /// The JPEG quality, 1 to 100: the field `Prefer-Quality`.
        public var quality: Int?

        /// The maximum number of bytes of frames in a second, 1 to 9,999,999,999: the field `Prefer-Byte-Rate`.
        ///
        /// A sender lowers the quality, and leaves out frames, as far as it must. One that does not know the field ignores
        /// it.
        public var byteRate: Int?

        /// Creates preferences without checking the values; a decoder may reject them.
        public init(
            frameRateInMillihertz: Int? = nil,
            size: BufferSize? = nil,
            quality: Int? = nil,
            byteRate: Int? = nil
        ) {
            self.frameRateInMillihertz = frameRateInMillihertz
            self.size = size
            self.quality = quality
            self.byteRate = byteRate
        }

        /// The frame rate in frames per second.
        ///
        /// A new value is rounded to the nearest one that the wire can express, from 0.001 to 1,000. NaN is treated as nil.
        public var frameRate: Double? {
            get { frameRateInMillihertz.map { Double($0) / 1_000 } }
            set { frameRateInMillihertz = newValue.flatMap(ControlRequest.millihertz) }
        }
    }

    /// Returns a rate in frames per second in the unit of the wire, within its range; nil for NaN.
    static func millihertz(_ rate: Double) -> Int? {
        rate.isNaN ? nil : Int(min(max(rate, 0.001), 1_000) * 1_000 + 0.5)
    }
}

extension ControlRequest {
    /// The reason a session ended, for both sides.
    ///
    /// The raw value is a stable code that travels in the field `Finish-Reason`; 10001 is the code that Jitsi's client uses
    /// for an orderly stop. A code never changes its meaning.
    public enum FinishReason: Int, Sendable, CaseIterable, Hashable {
        /// 10001: The person who shares the screen stopped.
        case stoppedByUser = 10_001
        /// 10002: The receiver asked to end the session.
        case requestedByHost
        /// 10003: The connection broke.
        case disconnected
        /// 10004: The two sides have no version of the control channel in common.
        case versionMismatch
        /// 10005: One side's token is not the one that the other side expects.
        case tokenRejected
        /// 10006: The call that the frames were for is over.
        case callEnded
        /// 10007: Another sender took this one's place.
        case superseded
        /// 10008: There is no receiver to send to.
        case noHost
        /// 10009: The system suspended one side.
        case suspended
        /// 10010: Another error occurred.
        case error

        /// The codes of all reasons, which are consecutive.
        static let codes = stoppedByUser.rawValue...error.rawValue

        /// The stable name, such as `stoppedByUser`, for programs to print and compare.
        public var name: String { facts.name }

        /// Whether somebody intended the session to end, so that there is no error to report to a person.
        ///
        /// True for ``stoppedByUser``, ``requestedByHost``, ``callEnded``, ``superseded`` and ``suspended``. The other five
        /// ended or prevented a session that both sides wanted.
        public var isOrderly: Bool { facts.isOrderly }

        fileprivate var facts: (name: String, isOrderly: Bool, sentence: String) {
            switch self {
            case .stoppedByUser: ("stoppedByUser", true, "Screen sharing stopped.")
            case .requestedByHost: ("requestedByHost", true, "The app that shows the screen ended screen sharing.")
            case .disconnected: ("disconnected", false, "The connection to the other side was lost.")
            case .versionMismatch: ("versionMismatch", false, "The versions of the two sides are incompatible.")
            case .tokenRejected:
                ("tokenRejected", false, "The other side did not prove that it belongs to this session.")
            case .callEnded: ("callEnded", true, "The call has ended.")
            case .superseded: ("superseded", true, "Another screen is being shared instead.")
            case .noHost: ("noHost", false, "No app is running to show the screen.")
            case .suspended: ("suspended", true, "The system suspended screen sharing.")
            case .error: ("error", false, "Screen sharing failed.")
            }
        }
    }
}

extension ControlRequest.FinishReason: CustomStringConvertible {
    /// A description for a person, in one sentence.
    public var description: String { facts.sentence }
}
