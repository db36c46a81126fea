/// What `framesocket replay` does with a kind of file.
protocol Replay: Sendable {
    /// Sends the file.
    func send(_ input: InputFile) async throws(CommandFailure)

    /// Ends what is being sent.
    func close() async

    /// What was sent, as an event.
    var event: JSONLine { get }

    /// What was sent, for a person.
    var sentence: String { get }
}
