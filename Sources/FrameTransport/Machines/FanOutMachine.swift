/// Decides which readers receive which frame of one sender: every reader gets the latest, and one that joins late
/// starts with the last.
package struct FanOutMachine<Frame> {
    private var readers: [UInt64] = []
    private var lastReader: UInt64 = 0
    private var last: Frame?

    /// The reason for the end of the frames; nil until then.
    package private(set) var ending: CloseReason?

    package init() {}

    /// The number of readers.
    package var readerCount: Int { readers.count }

    /// Publishes a frame.
    ///
    /// - Returns: The readers that receive it; none once the frames have ended.
    package mutating func publish(_ frame: Frame) -> [UInt64] {
        guard ending == nil else { return [] }
        last = frame
        return readers
    }

    /// Adds a reader.
    ///
    /// - Returns: Its number, the frame that it starts with, and the end if the frames have ended.
    package mutating func join() -> (reader: UInt64, first: Frame?, ending: CloseReason?) {
        lastReader += 1
        if ending == nil { readers.append(lastReader) }
        return (lastReader, last, ending)
    }

    /// Removes a reader.
    package mutating func leave(_ reader: UInt64) {
        readers.removeAll { $0 == reader }
    }

    /// Ends every reader after its last frame; only the first end counts.
    ///
    /// - Returns: The readers to notify.
    package mutating func end(_ reason: CloseReason) -> [UInt64] {
        guard ending == nil else { return [] }
        ending = reason
        defer { readers = [] }
        return readers
    }
}
