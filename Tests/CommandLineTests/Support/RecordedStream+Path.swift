import FrameSocketTesting

extension RecordedStream {
    /// The file that the stream is embedded from, for other programs.
    var path: String { Places.fixture("streams/\(name).http") }
}
