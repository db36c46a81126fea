/// Finds the most common mistakes in the setup of a broadcast, and says how to fix them.
///
/// Most of them cause no error when the broadcast begins: the picker lists no extension, or the extension finds no
/// server. Call `check()` in the app during development, before it shows the picker:
///
/// ```swift
/// for problem in BroadcastSetup.check() { print(problem) }
/// ```
///
/// It checks the App Group, the entries of the Info.plists, the extension in the app's bundle, the length of the
/// socket's path, and background audio.
public enum BroadcastSetup {
    /// A mistake in the setup.
    public struct Problem: Sendable, Hashable {
        /// The kind of mistake.
        public let code: Code

        /// A sentence for a person that says what is wrong and how to fix it.
        public let message: String

        init(_ code: Code, _ message: String) {
            self.code = code
            self.message = message
        }
    }

    /// The kind of a problem.
    ///
    /// A structure rather than an enumeration, so that later versions can add codes without breaking a `switch`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable spelling, such as `group.notEntitled`.
        public let rawValue: String

        /// The stable text.
        public var description: String { rawValue }
    }
}

extension BroadcastSetup.Problem: CustomStringConvertible {
    /// The message and the code, in one line.
    public var description: String { "\(message) [\(code)]" }
}

extension BroadcastSetup.Code {
    /// The Info.plist names no App Group.
    package static let groupMissing = Self(rawValue: "group.missing")
    /// The name of the App Group does not begin with `group.`.
    package static let groupMalformed = Self(rawValue: "group.malformed")
    /// The process is not entitled to the App Group that its Info.plist names.
    package static let groupNotEntitled = Self(rawValue: "group.notEntitled")
    /// The extension's Info.plist names a different App Group than the app's.
    package static let groupDiffers = Self(rawValue: "group.differs")
    /// The socket's path is longer than a socket's address can hold.
    public static let pathTooLong = Self(rawValue: "path.tooLong")
    /// The app's Info.plist does not name its extension.
    package static let extensionMissing = Self(rawValue: "extension.missing")
    /// The extension that the app's Info.plist names is not in the app's bundle.
    package static let extensionNotEmbedded = Self(rawValue: "extension.notEmbedded")
    /// The extension's bundle identifier does not begin with the app's.
    package static let extensionIdentifier = Self(rawValue: "extension.identifier")
    /// The extension is not declared as a broadcast upload extension.
    package static let extensionPoint = Self(rawValue: "extension.point")
    /// The extension is not declared to receive samples.
    package static let extensionProcessMode = Self(rawValue: "extension.processMode")
    /// The extension's Info.plist names no principal class.
    package static let extensionClass = Self(rawValue: "extension.class")
    /// The app is suspended as soon as the user leaves it, and then receives no frames.
    package static let backgroundAudio = Self(rawValue: "background.audio")
}
