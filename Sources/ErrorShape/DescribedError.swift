/// The shape of every error of this package: a code for programs, a message for a person, and where the failure came
/// from.
package protocol DescribedError: Error, CustomStringConvertible {
    /// The type of the code, whose description is stable.
    associatedtype Code: CustomStringConvertible

    /// The kind of failure.
    var code: Code { get }

    /// What happened, and how to fix it; without what the other properties say.
    var message: String { get }

    /// The `errno` of the failed system call; nil if none failed.
    var underlyingErrno: Int32? { get }

    /// The offset of the first wrong byte in the input, starting at 0; nil if the failure is not about bytes.
    var byteOffset: UInt64? { get }

    /// What failed, such as a path; nil if the message says it.
    var subject: String? { get }

    /// The text of the system or library that reported the failure; nil for a failure found by this package.
    var cause: String? { get }
}

extension DescribedError {
    package var subject: String? { nil }

    package var cause: String? { nil }

    /// The error in one line: `subject: message (at byte N; cause)`, without the parts that are nil.
    package var summary: String {
        let notes = [byteOffset.map { "at byte \($0)" }, cause].compactMap { $0 }
        let text = subject.map { "\($0): \(message)" } ?? message
        return notes.isEmpty ? text : "\(text) (\(notes.joined(separator: "; ")))"
    }
}
