import Testing

/// How a process ended, and all that it printed.
struct Ending: Sendable, CustomStringConvertible {
    /// The exit code, or the negative number of the signal that ended it.
    let status: Int32
    let output: [UInt8]
    let errors: String

    init(_ state: Transcript.State) {
        status = state.status ?? 0
        output = state.output
        errors = state.text
    }

    var text: String { String(decoding: output, as: UTF8.self) }
    var lines: [String] { output.completeLines }

    /// The checksums of the frames that ffmpeg has decoded, which it prints as `framemd5`.
    var checksums: [Substring] {
        lines.filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: " ").last }
    }

    /// Checks how it ended: the exit code, and words on standard error.
    @discardableResult
    func checked(
        _ status: Int32,
        _ words: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> Self {
        let isExpected = self.status == status && words.allSatisfy { errors.contains($0) }
        #expect(isExpected, "expected \(status) \(words), got \(self)", sourceLocation: sourceLocation)
        return self
    }

    var description: String { "exit \(status)\nstandard output: \(text.prefix(2000))\nstandard error: \(errors)" }
}

extension Transcript.State {
    /// What was told on standard error.
    var text: String { String(decoding: errors, as: UTF8.self) }
}

extension [UInt8] {
    /// The lines that have an end.
    var completeLines: [String] {
        split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }
    }
}
