import FrameSocket

extension SampleUploader.Conditions {
    private static let sentences: [(condition: Self, sentence: String)] = [
        (.receiverSlow, "the receiver takes less than is sent"),
        (.budgetLow, "the maximum of bytes a second does not suffice for every image, even at the lowest quality"),
        (.encoderSlow, "images come faster than they can be encoded"),
    ]

    /// The event that they have changed.
    var event: JSONLine {
        var line = JSONLine(event: "conditions")
        line.add("present", names)
        return line
    }

    /// The same for a person; nil if there are none.
    var sentence: String? {
        let present = Self.sentences.filter { contains($0.condition) }.map(\.sentence)
        return present.isEmpty ? nil : present.joined(separator: ", and ")
    }
}
