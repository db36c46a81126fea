internal import FrameSocket
internal import FrameWire

/// What is done in a history, from outside the machines: who takes part, and every step that a program, a peer or the
/// system takes.
///
/// It is made from the seed alone. Leaving out a step changes no other, so that a failing plan can be shrunk.
struct Plan {
    var places: [PlacePlan] = []
    var threads = 1
    var budgets: [Int] = []
    var actors: [Actor] = []
    var steps: [Step] = []
    /// When faults stop, and everything is to come to rest.
    var end: UInt64 = 0

    struct PlacePlan {
        var isPort = false
        var isEphemeral = false
        var usesTokens = false
    }

    enum Actor: CustomStringConvertible {
        case server(ServerPlan)
        case sender(SenderPlan)
        case peer(ScriptedPeer)

        var description: String {
            // The names of the types say nothing that the values do not.
            let text =
                switch self {
                case .server(let plan): "\(plan)"
                case .sender(let plan): "\(plan)"
                case .peer(let peer): "\(peer)"
                }
            return text.replacing("FrameSocketSimulation.", with: "").replacing("Plan.", with: "")
        }
    }

    /// A step: when, who, what.
    struct Step {
        var time: UInt64
        var actor: Int
        var action: Action
    }

    enum Action {
        // Anybody.
        /// A sender opens, a server listens, a peer connects or listens.
        case appear
        case leave(ControlRequest.FinishReason?)
        case reset

        // Senders.
        case offer(Offering)
        case audio(count: Int, length: Int)
        case configure(SampleUploader.Pacing)
        case requestFrame
        case finish(cancelledAfter: UInt64?)
        /// Begins to share memory, or ends it.
        case share(Bool)
        /// Sends another size.
        case resize(SampleUploader.OutputScale)
        case openWithin(UInt64, cancelledAfter: UInt64?)
        case encoderFails(Bool)
        /// The task that sends a frame without an uploader is cancelled.
        case cancelFrame

        // Servers, and the programs that consume their latest connection.
        case drain
        case pace(ConsumerPace)
        case cancelConsumer
        case letGo
        /// The program releases every image that it has kept.
        case releaseImages
        /// Requests, one right behind the other.
        case request([ControlRequest])
        case closeConnection(ControlRequest.FinishReason?)
        case drainConnection

        // The system.
        case shortage(UInt64)
        case breakConnection(Int)
        case hang(place: Int, UInt64)
        /// So many connect at once, and most leave at once, or send the token and stay.
        case storm(place: Int, Int, isWithToken: Bool = false)
    }

    /// Frames that a producer offers.
    struct Offering {
        var count: Int
        var interval: UInt64
        var length: Int
        /// Whether all frames show the same.
        var isStatic: Bool
    }

    /// What a program submits.
    enum Images {
        /// JPEGs.
        case none
        /// Images.
        case ordinary
        /// Any kind, and images that are copied when they are submitted.
        case mixed
    }

    /// How long a program keeps images in shared memory.
    enum Keeping {
        case nothing
        /// So many of 100, each for up to this time, even after the connection has ended.
        case some(percent: Int, time: UInt64)
        /// Until the end.
        case everything
    }

    /// How a program consumes frames.
    enum ConsumerPace: Hashable {
        case prompt
        /// It takes so long over each.
        case slow(UInt64)
        /// It takes nothing until it is told otherwise.
        case silent

        var delay: UInt64 { if case .slow(let time) = self { time } else { 2_000 } }
    }
}

/// A server of this package, and the program around it.
struct ServerPlan {
    var place: Int
    var thread: Int
    /// The threads that read its connections; if there are none, its own does.
    var readers: [Int] = []
    var budget: Int
    var connections: Int
    /// How many of them may have yet to show their token.
    var handshakes: Int { max(1, connections / 2) }
    var deliversNewest: Bool
    var hello: ControlRequest.Wants?
    /// What the program states about its side: ``Statement/info(_:)``; 0 for nothing.
    var statement = 0
    var pace: Plan.ConsumerPace
    /// Whether the program takes connections; one that does not leaves them in the listener's queue.
    var takesConnections: Bool
    var firstFrame: UInt64?
    var idle: UInt64?
    /// Whether the place is a port, where a reset may lose data.
    var isPort: Bool
    /// Whether its consumers run on the connections' own thread.
    var consumesOnThread: Bool
    /// How much of its requests a sender may leave unread.
    var requestCapacity: Int
    var acceptsSharedMemory: Bool
    var keeping: Plan.Keeping
    /// How many of 100 descriptors find no room, and how many of 100 buffers cannot be mapped.
    var lostDescriptors: Int
    var failingMappings: Int
}

/// A sender of this package, and the program around it.
struct SenderPlan {
    var identity: UInt16
    var place: Int
    var thread: Int
    /// Whether frames go through an uploader; if not they are sent one by one.
    var usesUploader: Bool
    var reopens: Bool
    var pads: Bool
    var pacing: SampleUploader.Pacing
    var socketCapacity: Int
    /// Whether images are kept beside their JPEGs.
    var keepsLatestImage: Bool
    var encodingTime: UInt64
    var retryInterval: UInt64
    /// What the program submits.
    var images: Plan.Images
    /// Whether it shares memory.
    var sharesMemory: Bool
    /// How many of 100 buffers the system has no memory for.
    var failingBuffers: Int
    /// The size of what is sent.
    var scale: SampleUploader.OutputScale
    /// Whether images are rotated upright.
    var appliesOrientation: Bool
    /// How the quality follows what is possible, if it does.
    var adaptation: SampleUploader.Configuration.Adaptation?
    /// What the program states about its side: ``Statement/info(_:)``; 0 for nothing.
    var statement = 0
}
