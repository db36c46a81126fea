/// What happened in the histories, so that a scenario that never happens is seen.
struct Coverage {
    enum Scenario: Int, CaseIterable {
        case growingPause
        case reconnect, pause, stop, preference, refresh, ping, audio, reset, selfConnect, refusedConnection
        case descriptorShortage, descriptorsReturn, handshake, wrongToken, descriptorWithToken, drain, restart,
            eviction, departedSenderDropped
        case bodyWaited, bodyRefused, supersededFrame, latestFrameRepeated, trailingFrame, deferredFrame, pacedFrame
        case unchangedFrame, sendBlocked, sendTimeout, receiveTimeout, handshakeTimeout, idleTimeout
        case openTimeout, cancelled, finished, lingered, discarded, halfClose, malformed, hostileSender, hostileReceiver
        case poolChanged, resizedWhileConnected
        case plainSender, plainReceiver, sharedBudget, tcp, manyEndpoints, audioOnly
        case encodingFailed, turnYielded, drainCutOff, storm, handshakeGaveWay
        case visit, lateSubmission, placeWasKept, placeWasRevoked
        case sharedFrame, sharedRepeat, declined, latestFrameAfterDecline, sharedMemoryOverBudget, descriptorLost
        case mappingFailed, sharedFault, keptAfterTheEnd, everyBufferHeld, copiedFrame, notShared
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

    /// Notes that something happened in this history.
    mutating func count(_ scenario: Scenario) {
        current |= 1 << UInt128(scenario.rawValue)
    }

    mutating func checked(_ promise: Promise) {
        checks[promise.rawValue] += 1
    }

    mutating func endHistory() {
        guard current != 0 else { return }
        for index in histories.indices where current & (1 << UInt128(index)) != 0 { histories[index] += 1 }
        current = 0
    }

    func histories(with scenario: Scenario) -> Int { histories[scenario.rawValue] }
    func checks(of promise: Promise) -> Int { checks[promise.rawValue] }
}
