import FrameSocket

extension SampleUploader.Conditions {
    /// The event that they have changed.
    var event: JSONLine {
        var line = JSONLine(event: "conditions")
        line.add("present", names)
        return line
    }
}
