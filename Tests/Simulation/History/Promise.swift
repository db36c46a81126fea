/// What the histories are checked against: invariants of the whole, and promises that the documents make.
///
/// The numbers are those of docs/promises.md, and stay when the wording changes.
enum Promise: Int, CaseIterable {
    case descriptorUsedAfterClose
    /// P2, P90, P95, P275: what is delivered was offered, whole, and once for each time that it was sent.
    case integrity
    /// P90, P96: frames and snapshots come in their order.
    case order
    /// P91, P121, P128: whatever crossed the socket whole is delivered.
    case everyFrame
    /// P60, P61, P64, P66, P67, P303, P304: a receiver that wants frames ends up with the latest.
    case latestFrame
    /// P40: nothing follows the answer to a pause.
    case nothingWhilePaused
    /// P44: no connection after a stop was read, and a stop that is asked for is written.
    case stopIsFinal
    /// P24: with the reason that it gave.
    case stopIsAnswered
    /// P11: the last status is the last message.
    case nothingAfterStopped
    /// P48: what a receiver stated lives as long as its connection.
    case preferencesEndWithReceiver
    /// P4, P30: neither audio nor statuses before a hello.
    case onlyFramesBeforeHello
    /// P6, P64: what is not wanted does not begin.
    case onlyWhatIsWanted
    /// P21, P61, P303: no frame goes to a receiver twice unasked.
    case repeatsHaveReasons
    /// P65: timestamp, number and orientation stay.
    case repeatsAreTheSame
    /// P76: sequence numbers ascend, and count what is accepted.
    case sequenceAscends
    /// P13: audio arrives in its order.
    case audioInOrder
    /// P100: at most 64 audio messages wait.
    case audioIsBounded
    /// P14: tokens are shown before anything else.
    case tokenComesFirst
    /// P2: what a sender writes is messages, one after the other.
    case messagesAreWhole
    /// P21: a pong has the number of a ping, the last one that of the last.
    case pongsAnswerPings
    /// P15, P21, P25: a hello is answered, and nothing more often than it was asked.
    case oneAnswerEach
    /// P23, P27: the last status tells how the sender stands.
    case lastAnswerIsTrue
    /// P31: at most 16 KiB of requests wait.
    case requestsAreBounded
    /// P98: no more frames are read ahead than documented.
    case readAheadIsBounded
    /// P33: at most 16 statuses wait.
    case latestSixteen
    /// P105: a connection is presented once.
    case presentedOnce
    /// P129, P131: who has connected before a server drains or closes is presented.
    case lastAreHeard
    /// P184, P186: no more is admitted than the budget has, and what is not counted any more is free.
    case budgetHolds
    /// P181: larger bodies are admitted in the order in which they come.
    case bodiesInOrder
    /// P151: a turn has its messages, bytes and reads.
    case turnsAreBounded
    /// P181, P190: nothing is left when everybody has gone.
    case noResidue
    /// P200, P201, P203, P207: whoever gives up, or has a limit, is told in time.
    case promptness
    /// P119: a sender can learn that something it has sent was discarded.
    case lossIsKnown
    /// P121, P122, P141: an orderly end is no error, and an error is no orderly end.
    case reasons
    /// P122: an end within a message is not orderly.
    case endsBetweenMessages
    /// P109, P120, P138: everybody is told once.
    case toldOnce
    /// P240: the place is free when a server has closed.
    case reusableAtOnce
    /// P74: one frame is encoded or sent at a time.
    case oneFrameAtATime
    /// P69: a silent source is kept alive.
    case keptAlive
    /// P75: every frame is sent or dropped.
    case everyFrameIsCounted
    /// P188: a sender that has gone holds no place, consumed or not.
    case departedReleaseTheirPlace
    /// P181, P189: what departed senders have left gives way to whoever needs the memory.
    case departedGiveWay
    /// P189: no more departed senders are remembered than there are places.
    case visitorsAreBounded
    /// P154, P166: there are no more connections than places, and few of them without a token.
    case placesAreBounded
    /// P197: a connection that waits to be taken asks for no memory.
    case untakenAskForNothing
    /// P103: frames that nobody wants hold up no audio.
    case audioNeedsNoFrames
    /// P102: audio that was not asked for is skipped, and what is kept has a bound.
    case audioOnlyIfAsked
    /// P15, P151, P155: whatever has arrived is read, whoever waits is accepted, and an uploader does what it can.
    case nothingIsStuck
    /// P160: a sender does not talk to itself.
    case neverItself
    /// P127: a receiver that ends its sending direction gets the rest of the frame under way.
    case halfCloseEndsFrame
    /// P207: frames that are offered later do not prolong a wait.
    case finishIgnoresLater
    /// P190: a connection has at most one entry among the deadlines.
    case oneDeadlineEach
    /// P203: whoever waits for a server has at least one attempt.
    case callersGetAnAttempt
    /// P203: attempts that were made for somebody who gave up end.
    case cancelledAttemptsEnd
    /// P128: a drain leaves senders their time.
    case drainLasts
    /// P125: an orderly end takes no longer than `linger`.
    case lingerIsBounded
    /// P135: at most one attempt to connect in `retryInterval`.
    case retriesArePaced
    /// P148: a connection that came to nothing is followed by a longer pause than the one before.
    case pausesGrow
    /// P158: a receiver that takes something is not given up.
    case slowIsNotBroken
    /// P13: requests are never cut.
    case requestsAreWhole
    /// P12: the first request is a hello.
    case helloComesFirst
    /// P7: statuses and audio go before a frame that waits.
    case audioGoesFirst
    /// P126: a receiver that said hello is told why the sender ends.
    case endIsTold
    /// P207: what the pacing holds back is sent when somebody waits for it.
    case finishSendsWhatIsHeldBack
    /// P260, P265, P303: shared memory is offered to those who ask for it, and used until they decline.
    case sharedOnlyIfAsked
    /// P107, P263: a buffer is not written, announced or sent again while its receiver has it.
    case heldBuffersStay
    /// P263: a buffer is released once for each frame in it.
    case releasesAreOnce
    /// P265: whoever has no room declines once.
    case declinesOnce
    /// P265: nothing shared is delivered after a decline.
    case nothingSharedAfterDecline
    /// P95: each announcement has one descriptor, which came with its first byte.
    case descriptorsMatch
    /// P261: a sender that breaks a rule ends its connection.
    case rulesAreEnforced
    /// P117: outside the changed rows an image is like the one before it.
    case changedRows
    /// P277, P283: memory, and the lack of it, belongs to one connection.
    case buffersHaveOneConnection
    /// P190: nothing that was shared is left when everybody has let go of it.
    case noSharedResidue
    /// P25: a preference is followed, or refused by a status.
    case preferencesAreAnswered
    /// P287: no frame waits for a buffer for too long.
    case buffersAreAwaited
    /// P303: the latest image is sent as the receiver that is there wants it.
    case latestImageInItsTerms
    /// P153: silence is measured from when the sender was last heard of, or was told what is wanted.
    case deadlinesAreWhole
    /// P325: an info goes only to a receiver that asked for it, after the answer to its hello, and once.
    case infoOnlyIfAsked
    /// P326: what a receiver sees is what its sender stated, whole, and for this connection.
    case infoIsWhole
    /// P326: so is what a sender sees of its receiver.
    case receiversInfoIsWhole
    /// P329: the info comes before the first frame, with a size, and at once if no frames are wanted.
    case infoComesFirst
    /// P340: in any two seconds, an uploader sends at most 5 % more than its maximum, or a single frame.
    case byteRateHolds
    /// P341: an image that was sent at a low quality is sent again at the highest, once.
    case stillImageIsSharp
    /// P350: no change is lost from the damage, whatever became of the images.
    case damageIsWhole
    /// P345: a difficulty is reported when it has lasted, a lack of memory at once, and its end.
    case difficultiesAreTold
    case progress
}

/// A promise that was broken.
struct Violation: CustomStringConvertible {
    let promise: Promise
    let detail: String

    var description: String { "\(promise): \(detail)" }
}
