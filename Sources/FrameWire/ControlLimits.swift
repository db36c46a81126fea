/// The upper bounds that a ``ControlDecoder`` enforces on a receiver.
///
/// Each limit is checked before the data it bounds is stored or acted on. A value equal to a limit is accepted.
package struct ControlLimits: Sendable, Hashable {
    /// The maximum size of a header in bytes, including the line feed that ends its blank line: 2,048.
    package var maximumHeaderBytes = 2_048

    /// The maximum number of fields in a header, including unknown ones: 16.
    package var maximumFields = 16

    /// The maximum length of a body in bytes, the value of `Content-Length`: 4,096.
    package var maximumContentLength = 4_096

    /// Creates the default limits.
    package init() {}
}
