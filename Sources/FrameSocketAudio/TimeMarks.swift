internal import FrameSocket

/// Which frame of a stream has which presentation time.
///
/// Each block that came leaves a mark. There are at most ``capacity`` of them: if blocks are so small that more
/// would be needed, the times of later blocks are reckoned from earlier ones.
struct TimeMarks {
    static let capacity = 128

    private struct Mark {
        /// The count of frames before it, since the stream began.
        let position: Int
        let time: UInt64?
    }

    private let format: AudioFormat
    private var marks: [Mark] = []

    init(_ format: AudioFormat) {
        self.format = format
    }

    /// Notes the time of the frame at `position`, which lies behind all noted before.
    mutating func note(_ time: UInt64?, at position: Int) {
        guard marks.count < Self.capacity else { return }
        marks.append(Mark(position: position, time: time))
    }

    /// Forgets what only frames before `position` need.
    mutating func forget(before position: Int) {
        // The last mark at or before the position speaks for the frames behind it.
        let needed = marks.lastIndex { $0.position <= position } ?? 0
        marks.removeFirst(needed)
    }

    /// The time of the frame at `position`; nil if its block had none.
    func time(at position: Int) -> UInt64? {
        guard let mark = marks.last(where: { $0.position <= position }), let time = mark.time else { return nil }
        let (sum, overflow) = time.addingReportingOverflow(format.nanoseconds(inFrames: position - mark.position))
        return overflow ? nil : sum
    }
}
