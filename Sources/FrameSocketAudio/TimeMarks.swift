internal import FrameSocket

/// The presentation times of the frames of a stream.
///
/// Every block leaves a mark. There are at most ``capacity`` marks: if blocks are so small that more would be needed,
/// the times of later blocks are computed from earlier ones.
struct TimeMarks {
    static let capacity = 128

    private struct Mark {
        /// The number of frames before it, since the stream began.
        let position: Int
        let time: UInt64?
    }

    private let format: AudioBlock.Format
    private var marks: [Mark] = []

    init(_ format: AudioBlock.Format) {
        self.format = format
    }

    /// Records the time of the frame at `position`, which follows all earlier ones.
    mutating func note(_ time: UInt64?, at position: Int) {
        guard marks.count < Self.capacity else { return }
        marks.append(Mark(position: position, time: time))
    }

    /// Drops marks that only frames before `position` need.
    mutating func forget(before position: Int) {
        // The last mark at or before the position applies to the frames after it.
        let needed = marks.lastIndex { $0.position <= position } ?? 0
        marks.removeFirst(needed)
    }

    /// Returns the time of the frame at `position`; nil if its block had none.
    func time(at position: Int) -> UInt64? {
        guard let mark = marks.last(where: { $0.position <= position }), let time = mark.time else { return nil }
        let (sum, overflow) = time.addingReportingOverflow(format.nanoseconds(inFrames: position - mark.position))
        return overflow ? nil : sum
    }
}
