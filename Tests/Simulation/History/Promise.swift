/// What the histories are checked against: invariants of the whole, and promises that the documents make.
///
/// The numbers are those of docs/promises.md, and stay when the wording changes.
enum Promise: Int, CaseIterable {
    case descriptorUsedAfterClose
    case integrity
    case order
    case everyFrame
    case latestFrame
    case nothingWhilePaused
    case stopIsFinal
    case stopIsAnswered
    case nothingAfterStopped
    case preferencesEndWithReceiver
    case onlyFramesBeforeHello
    case onlyWhatIsWanted
    case repeatsHaveReasons
    case repeatsAreTheSame
    case sequenceAscends
    case audioInOrder
    case audioIsBounded
    case tokenComesFirst
    case messagesAreWhole
    case pongsAnswerPings
    case oneAnswerEach
    case lastAnswerIsTrue
    case requestsAreBounded
    case readAheadIsBounded
    case latestSixteen
    case presentedOnce
    case budgetHolds
    case turnsAreBounded
    case noResidue
    case promptness
    case reasons
    case endsBetweenMessages
    case toldOnce
    case reusableAtOnce
    case fanOutReaders
    case memoryLimit
    case oneFrameAtATime
    case everyFrameIsCounted
    case progress
}

/// A promise that was broken, and when.
struct Violation: CustomStringConvertible {
    let promise: Promise
    let detail: String
    let time: UInt64

    var description: String { "\(promise): \(detail)" }
}

/// What happened in a history, line by line; kept only if somebody wants to read it.
struct Trace {
    var isOn = false
    private(set) var lines: [String] = []

    mutating func removeAll() {
        lines.removeAll(keepingCapacity: true)
    }

    mutating func append(_ line: String, at time: UInt64) {
        let microseconds = (time - min(time, 1_000_000_000)) / 1_000
        lines.append("\(microseconds) us  \(line)")
    }
}
