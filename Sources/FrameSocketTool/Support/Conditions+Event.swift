import FrameSocket

extension SampleUploader.Conditions {
    private static let all: [(condition: Self, code: String, sentence: String)] = [
        (.receiverSlow, "receiver.slow", "the receiver takes less than is sent"),
        (
            .budgetLow, "budget.low",
            "the maximum of bytes a second does not suffice for every image, even at the lowest quality"
        ),
        (.memoryShort, "memory.short", "the memory does not suffice for every image"),
        (.encoderSlow, "encoder.slow", "images come faster than they can be encoded"),
    ]

    private var present: [(condition: Self, code: String, sentence: String)] {
        Self.all.filter { contains($0.condition) }
    }

    /// The event that they have changed.
    var event: JSONLine {
        var line = JSONLine(event: "conditions")
        line.add("present", present.map(\.code))
        return line
    }

    /// The same for a person; nil if there are none.
    var sentence: String? { isEmpty ? nil : present.map(\.sentence).joined(separator: ", and ") }
}
