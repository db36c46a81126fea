/// Decides which readers receive which frame of one sender: each the latest, one that joins late the last one first.
package struct FanOutMachine<Frame> {
    private var readers: [UInt64] = []
    private var lastReader: UInt64 = 0
    private var last: Frame?

    /// Why the frames have ended; nil while they come.
    package private(set) var ending: CloseReason?

    package init() {}

    /// How many readers there are.
    package var readerCount: Int { readers.count }

    /// Takes a frame.
    ///
    /// - Returns: The readers that receive it; none once the frames have ended.
    package mutating func publish(_ frame: Frame) -> [UInt64] {
        guard ending == nil else { return [] }
        last = frame
        return readers
    }

    /// Adds a reader.
    ///
    /// - Returns: Its number, the frame that it begins with, and the end if that is all that it receives.
    package mutating func join() -> (reader: UInt64, first: Frame?, ending: CloseReason?) {
        lastReader += 1
        if ending == nil { readers.append(lastReader) }
        return (lastReader, last, ending)
    }

    /// A reader has gone.
    package mutating func leave(_ reader: UInt64) {
        readers.removeAll { $0 == reader }
    }

    /// Ends every reader, once it has had its last frame; the first end counts.
    ///
    /// - Returns: The readers that are told.
    package mutating func end(_ reason: CloseReason) -> [UInt64] {
        guard ending == nil else { return [] }
        ending = reason
        defer { readers = [] }
        return readers
    }
}
