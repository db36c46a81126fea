internal import FrameTransport
internal import FrameWire

/// A frame on its way to a program, with its image if that is in shared memory.
struct SimFrame {
    let frame: Frame
    var loan: SimLoan?
    /// What the budget counts for it.
    var counted = 0

    var index: Int { frame.index }
}

/// An image that a program has; the last reference releases the buffer.
final class SimLoan {
    let mapping: SimMapping
    let receiver: Int
    let buffer: Int
    let image: SimImage
    private let outlet: Outlet

    init(_ mapping: SimMapping, _ header: SharedFrameHeader, receiver: Int, _ outlet: Outlet) {
        (self.mapping, self.receiver, buffer, self.outlet) = (mapping, receiver, header.buffer, outlet)
        image = SimImage(mapping.memory, header)
    }

    deinit {
        outlet.loans.append(Outlet.Loan(receiver: receiver, buffer: buffer, mapping: mapping, image: image))
    }
}

/// Memory of a sender that a receiver has mapped, as long as somebody refers to it.
final class SimMapping {
    let memory: SharedMemory
    private let outlet: Outlet

    init(_ memory: SharedMemory, _ outlet: Outlet) {
        (self.memory, self.outlet) = (memory, outlet)
        outlet.mappings += 1
    }

    deinit {
        outlet.mappings -= 1
    }
}

/// What a receiver's shell keeps of the memory that its sender shares.
struct SimMappings {
    /// The descriptors that have arrived ahead of their announcements: two at most.
    var passed: [SharedMemory] = []
    var mappings = [SimMapping?](repeating: nil, count: SharedFrameHeader.Buffer.indices.count)
    /// Whether the receiver has declined.
    var hasDeclined = false
}

/// The shell of a received connection: descriptors, mappings, and the images that its program has.
extension World {
    /// Returns what has come with the bytes that were read, and keeps the first of it.
    func takeArrivals(_ receiver: SimReceiver) -> (count: Int, areLost: Bool)? {
        guard !arrivals.isEmpty else { return nil }
        defer { arrivals.removeAll(keepingCapacity: true) }
        // A receiver that did not ask for any has no room for them, and the system closes them.
        guard receiver.acceptsSharedMemory else { return nil }
        var (count, areLost) = (0, false)
        for descriptor in arrivals {
            guard descriptors < descriptorLimit, !random.chance(servers[receiver.server].plan.lostDescriptors) else {
                coverage.count(.descriptorLost)
                areLost = true
                hasMissedDescriptors = hasMissedDescriptors || descriptors >= descriptorLimit
                continue
            }
            count += 1
            guard count == 1 else { continue }
            if receiver.shared.passed.count == 2 { receiver.shared.passed.removeLast() } else { descriptors += 1 }
            receiver.shared.passed.append(descriptor)
        }
        return (count, areLost)
    }

    func takeDescriptor(_ receiver: SimReceiver) -> SharedMemory? {
        guard !receiver.shared.passed.isEmpty else { return nil }
        descriptors -= 1
        return receiver.shared.passed.removeFirst()
    }

    func map(_ header: SharedFrameHeader.Buffer, of receiver: SimReceiver) -> Bool {
        unmap(header.index, of: receiver)
        guard let memory = takeDescriptor(receiver) else {
            violate(.descriptorsMatch, "connection \(receiver.index) maps a buffer without a descriptor")
            return false
        }
        let isRight = memory.byteCount == header.byteCount
        check(.descriptorsMatch, isRight, "buffer \(header.index) does not have the size that was announced")
        guard !random.chance(servers[receiver.server].plan.failingMappings) else {
            coverage.count(.mappingFailed)
            return false
        }
        guard budgets[receiver.budget].machine.map(header.byteCount) else {
            coverage.count(.sharedMemoryOverBudget)
            return false
        }
        receiver.shared.mappings[header.index] = SimMapping(memory, outlet)
        let mapped = receivers.lazy.filter { $0.budget == receiver.budget }.flatMap(\.shared.mappings)
            .reduce(0) { $0 + ($1?.memory.byteCount ?? 0) }
        let limit = budgets[receiver.budget].machine.largestBody
        check(.budgetHolds, mapped <= limit, "\(mapped) bytes are mapped, of \(limit)")
        return true
    }

    private func unmap(_ index: Int, of receiver: SimReceiver) {
        guard let mapping = receiver.shared.mappings[index] else { return }
        receiver.shared.mappings[index] = nil
        budgets[receiver.budget].machine.unmap(mapping.memory.byteCount)
    }

    func unmapAll(_ receiver: SimReceiver) {
        for index in receiver.shared.mappings.indices { unmap(index, of: receiver) }
    }

    /// The connection has ended: nothing that was passed is kept, except what frames refer to.
    func closeMappings(_ receiver: SimReceiver) {
        while takeDescriptor(receiver) != nil {}
        unmapAll(receiver)
    }

    // MARK: Frames

    func deliver(_ frame: Frame, _ header: SharedFrameHeader, _ more: Bool, to receiver: SimReceiver) {
        coverage.count(.sharedFrame)
        check(.nothingSharedAfterDecline, !receiver.shared.hasDeclined, "a shared frame is delivered after a decline")
        guard let mapping = receiver.shared.mappings[header.buffer] else {
            return violate(.integrity, "connection \(receiver.index) delivers a frame in a buffer that is not mapped")
        }
        receiver.loanCount += 1
        let loan = SimLoan(mapping, header, receiver: receiver.index, outlet)
        deliver(SimFrame(frame: frame, loan: loan), weight: mapping.memory.byteCount, more: more, to: receiver)
    }

    /// A program has released an image, whose buffer goes back to its sender.
    func loanEnded(_ loan: Outlet.Loan) {
        let receiver = receivers[loan.receiver]
        receiver.loanCount -= 1
        if monitor(of: receiver) != nil {
            check(.heldBuffersStay, loan.image.isUnchanged, "an image has changed while its receiver had it")
        }
        if receiver.closeReason != nil { coverage.count(.keptAfterTheEnd) }
        execute(for: receiver) { [self] in change(receiver) { $0.bufferReleased(loan.buffer, receiver) } }
    }

    func receiver(of sender: SimSender) -> SimReceiver? {
        guard sender.socket >= 0 else { return nil }
        let peer = sockets[sender.socket].peer
        return receivers.last { $0.socket == peer }
    }

    // MARK: Programs that keep images

    /// A program has a frame in its hands: it may keep it for a while, or until the end.
    func keep(_ frame: SimFrame, of receiver: SimReceiver) {
        guard frame.loan != nil else { return }
        switch servers[receiver.server].plan.keeping {
        case .nothing: return
        case .some(let percent, let time):
            guard random.chance(percent) else { return }
            schedule(of: receiver, after: random.time(in: 1_000...time)) { [self] in releaseKept(receiver) }
        case .everything: break
        }
        receiver.kept.append(frame)
    }

    /// A program releases one of the images that it has kept, in any order.
    func releaseKept(_ receiver: SimReceiver) {
        guard !receiver.kept.isEmpty else { return }
        receiver.kept.remove(at: random.below(receiver.kept.count))
    }

    /// Checks that nothing that was shared is left once everybody has let go of it.
    func checkSharedReleased() {
        let mapped = outlet.mappings
        let buffers = sharedMemory.count { $0.memory != nil }
        let passed = sockets.count { !$0.passed.isEmpty }
        let isEmpty = mapped == 0 && buffers == 0 && passed == 0
        check(
            .noSharedResidue,
            isEmpty,
            "left are \(mapped) mappings, \(buffers) buffers, and what \(passed) sockets passed"
        )
        for receiver in receivers {
            let shared = receiver.shared
            let mapped = shared.mappings.count { $0 != nil }
            check(.noSharedResidue, shared.passed.isEmpty && mapped == 0, "connection \(receiver.index) keeps memory")
        }
    }
}
