/// What happened in all histories, so that a scenario that never happens is seen.
final class Coverage {
    enum Scenario: Int, CaseIterable {
        case growingPause
        case reconnect, pause, stop, preference, refresh, ping, audio, reset, selfConnect, refusedConnection
        case descriptorShortage, descriptorsReturn, handshake, wrongToken, descriptorWithToken, drain, restart,
            eviction, departedSenderDropped
        case bodyWaited, bodyRefused, supersededFrame, latestFrameRepeated, trailingFrame, deferredFrame, pacedFrame
        case unchangedFrame, sendBlocked, sendTimeout, receiveTimeout, handshakeTimeout, idleTimeout
        case openTimeout, cancelled, frameCancelled, finished, lingered, discarded, halfClose, malformed
        case poolChanged, resizedWhileConnected
        case audioOnly, encodingFailed, turnYielded, drainCutOff, storm, handshakeGaveWay, audioGaveWay
        case visit, lateSubmission, placeWasKept, placeWasRevoked
        case sharedFrame, sharedRepeat, declined, latestFrameAfterDecline, sharedMemoryOverBudget, descriptorLost
        case mappingFailed, keptAfterTheEnd, everyBufferHeld, copiedFrame, notShared
        case sharedFrameWithdrawn, sharedOnTwoConnections, badPreference
        case waitedInVain
        case info, infoOfReceiver
        case heldBack, sharpened, adaptationEnded, limitsChanged
        case damage, damagedJob, damagedCopy
        case programOvertakes, consumerOvertakes, anotherReader, acceptedAtTheEnd, largeBodyWaitedForProgram

        /// The name in words.
        var name: String {
            var words = ""
            for character in "\(self)" {
                words += character.isUppercase ? " " + character.lowercased() : String(character)
            }
            return words
        }
    }

    private var current: UInt128 = 0
    private var histories = [Int](repeating: 0, count: Scenario.allCases.count)
    private var checks = [Int](repeating: 0, count: Promise.allCases.count)
    /// A hash of the times of events in their order: equal if the same happened.
    private(set) var digest: UInt64 = 0

    /// Notes that something happened in this history.
    func count(_ scenario: Scenario) {
        current |= 1 << UInt128(scenario.rawValue)
    }

    func checked(_ promise: Promise) {
        checks[promise.rawValue] += 1
    }

    func event(at time: UInt64) {
        digest = (digest ^ time) &* 0x0000_0100_0000_01b3
        digest ^= digest >> 29
    }

    func endHistory() {
        for index in histories.indices where current & (1 << UInt128(index)) != 0 { histories[index] += 1 }
        current = 0
    }

    func histories(with scenario: Scenario) -> Int { histories[scenario.rawValue] }
    func checks(of promise: Promise) -> Int { checks[promise.rawValue] }
}
