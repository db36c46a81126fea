/// The upper bounds that a ``ControlDecoder`` holds a receiver to.
///
/// Each is checked before the thing it bounds is stored or acted on, and a value equal to a limit is accepted.
public struct ControlLimits: Sendable, Hashable {
    /// The bytes of one head, from its first to the line feed that ends its blank line: 2,048.
    public var maximumHeadBytes = 2_048

    /// The fields of one head, unknown ones included: 16.
    public var maximumFields = 16

    /// The bytes of one body, the value of `Content-Length`: 4,096.
    public var maximumContentLength = 4_096

    /// Creates the default limits.
    public init() {}
}
