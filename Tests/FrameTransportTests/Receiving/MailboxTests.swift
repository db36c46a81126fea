import Foundation
import Locking
import Testing

@testable import FrameTransport

/// The queue between the thread that reads and the tasks that consume.
@Suite(.timeLimit(.minutes(5))) struct MailboxTests {
    @Test func `elements are returned in order, and the first end counts and is thrown after them`() async throws {
        for error in [nil, TransportError(.receiveTimedOut, "first")] {
            let mailbox = Mailbox<Int>(capacity: .max, overflow: .refused)
            for number in 0..<3 { mailbox.put(number) }
            mailbox.end(error)
            mailbox.end(error == nil ? TransportError(.noMemory, "second") : nil)
            #expect(!mailbox.put(3))
            for number in 0..<3 { #expect(try await mailbox.next() == number) }
            for _ in 0..<2 {
                do throws(TransportError) {
                    #expect(try await mailbox.next() == nil && error == nil)
                } catch let thrown {
                    #expect(thrown == error)
                }
            }
        }
    }

    @Test func `every element that leaves is reported once, outside the lock`() async throws {
        typealias Leave = Mailbox<Int>.Leave
        let left = Locked<[Int: Leave]>([:])
        let owner = WeakReference<Mailbox<Int>>()
        let mailbox = Mailbox<Int>(capacity: .init(count: 2), overflow: .replacesOldest) { element, leave in
            // From outside the lock.
            _ = owner.object?.count
            left.withLock { $0[element] = $0[element] == nil ? leave : .none }
        }
        owner.object = mailbox
        for number in 0..<5 { mailbox.put(number) }
        #expect(mailbox.take() == 3)
        #expect(try await mailbox.next() == 4)
        for number in 5..<7 { mailbox.put(number) }
        mailbox.end()
        #expect(!mailbox.put(7) && mailbox.take() == 5 && mailbox.take() == 6)
        let expected: [Leave] = [
            .replaced, .replaced, .replaced, .taken(isLast: false), .taken(isLast: false), .taken(isLast: false),
            .taken(isLast: true), .discarded,
        ]
        #expect(left.withLock { left in (0..<8).map { left[$0] } } == expected)
    }

    @Test func `what is discarded stays untaken, at every moment, for those who end the connection meanwhile`() {
        let untaken = Locked<[Bool]>([])
        let owner = WeakReference<Mailbox<Int>>()
        let mailbox = Mailbox<Int>(capacity: .init(count: 2), overflow: .refused) { _, leave in
            #expect(leave == .discarded)
            untaken.withLock { $0.append(owner.object?.hasUntaken ?? false) }
        }
        owner.object = mailbox
        #expect(!mailbox.hasUntaken)
        for number in 0..<2 { mailbox.put(number) }
        #expect(mailbox.discard() == 2)
        #expect(untaken.withLock { $0 } == [true, true] && mailbox.hasUntaken)
        let ended = Mailbox<Int>(capacity: 2, overflow: .refused)
        ended.put(0)
        ended.end()
        #expect(ended.take() == 0 && !ended.hasUntaken)
        #expect(!ended.put(1) && ended.hasUntaken)
    }

    /// Shows P33.
    @Test func `the newest elements replace the oldest, which are counted`() async throws {
        let mailbox = Mailbox<Int>(capacity: 2, overflow: .replacesOldest)
        for number in 0..<5 { #expect(mailbox.reserve().room > 0 && mailbox.put(number)) }
        #expect(mailbox.replaced == 3)
        #expect(mailbox.take() == 3)
        #expect(mailbox.take() == 4)
        #expect(mailbox.take() == nil)
        // What is dropped for another reason does not count.
        mailbox.put(5)
        mailbox.discard()
        #expect(mailbox.replaced == 3)
    }

    /// Shows P120.
    @Test func `an end reaches every waiting consumer`() async throws {
        let mailbox = Mailbox<Int>(capacity: 1, overflow: .refused)
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<8 { group.addTask { try? await mailbox.next() } }
            mailbox.end()
            for await element in group { #expect(element == nil) }
        }
    }

    /// Shows P201.
    @Test func `a cancelled consumer gets the end, and the element after it goes to the next one`() async throws {
        let mailbox = Mailbox<Int>(capacity: 1, overflow: .refused)
        for round in 0..<200 {
            let consumer = Task { try await mailbox.next() }
            if round.isMultiple(of: 2) { await Task.yield() }
            consumer.cancel()
            #expect(try await consumer.value == nil)
            mailbox.put(round)
            #expect(try await mailbox.next() == round)
        }
    }

    /// A consumer that finds the mailbox empty, and an element there when it begins to wait, must call the producer too.
    @Test func `a rejected producer is called however the element is taken`() async throws {
        let count = 30_000
        let room = DispatchSemaphore(value: 0)
        let mailbox = Mailbox<Int>(capacity: 1, overflow: .refused) { room.signal() }
        let producer = Thread {
            for number in 0..<count {
                while mailbox.reserve().room == 0 {
                    // A consumer that has left gets no more; so does one that was not told of.
                    if room.wait(timeout: .now() + 120) == .timedOut { return mailbox.end() }
                }
                mailbox.put(number)
            }
            mailbox.end()
        }
        producer.start()
        var next = 0
        while let number = try await mailbox.next() {
            #expect(number == next)
            next += 1
        }
        #expect(next == count)
    }
}

/// How far a producer may read ahead of its consumer, and whom it wakes.
@Suite struct ReadAheadTests {
    private typealias Machine = MailboxMachine<Int, String>

    private var mailbox: Machine { Machine(capacity: .init(count: 1, longest: 8), overflow: .refused) }

    /// Fills the room that there is; returns how much that was.
    private func fill(_ mailbox: inout Machine) -> Int {
        let room = mailbox.reserve().room
        for element in 0..<room { _ = mailbox.put(element, weight: 10) }
        return room
    }

    /// Takes so many elements; returns after which of them the producer is to be called.
    private func take(_ count: Int, _ mailbox: inout Machine) -> [Bool] {
        (0..<count).compactMap { _ in
            if case .element(_, let mustCallProducer, _) = mailbox.take() { mustCallProducer } else { nil }
        }
    }

    /// Lets a consumer take everything and come back for more, `rounds` times; returns what was read ahead each time.
    private func starve(_ mailbox: inout Machine, rounds: Int) -> [Int] {
        (0..<rounds).map { _ in
            let room = fill(&mailbox)
            _ = take(room, &mailbox)
            _ = mailbox.wait("")
            _ = mailbox.wakeAll()
            _ = mailbox.take(wasWoken: true)
            return room
        }
    }

    @Test func `one element is read ahead, and more only for a consumer that returned and found nothing`() {
        var mailbox = mailbox
        #expect(starve(&mailbox, rounds: 6) == [1, 2, 4, 8, 8, 8])
        // From now on it is slow: it never comes back before there is more.
        let windows = (0..<3).map { _ in
            let room = fill(&mailbox)
            _ = take(room, &mailbox)
            return room
        }
        #expect(windows == [8, 1, 1])
    }

    @Test func `a long window is refilled when half of it has been taken, and not for a slow consumer`() {
        var mailbox = mailbox
        _ = starve(&mailbox, rounds: 3)
        #expect(fill(&mailbox) == 8 && mailbox.reserve().room == 0)
        #expect(take(4, &mailbox) == [false, false, false, true])
        let reserved = mailbox.reserve()
        #expect(reserved.room == 4 && reserved.waitingWeight == 40)
        // It has taken more than half a window and found something each time.
        _ = take(1, &mailbox)
        #expect(mailbox.reserve().room == 0)
        #expect(take(3, &mailbox) == [false, false, true] && mailbox.reserve().room == 1)
    }

    @Test func `a producer may wait until everything has been taken`() {
        var mailbox = mailbox
        _ = starve(&mailbox, rounds: 2)
        #expect(fill(&mailbox) == 4 && take(2, &mailbox) == [false, false])
        #expect(mailbox.reserve(onceEmpty: true).room == 0)
        #expect(take(2, &mailbox) == [false, true])
    }

    @Test func `a consumer is woken once for several elements, which it gets in order`() {
        var mailbox = mailbox
        #expect(mailbox.wait("first") && mailbox.wait("second"))
        #expect(mailbox.reserve().room == 1 && mailbox.put(1, more: true).woken == nil)
        // What consumers wait for is not read ahead.
        #expect(mailbox.put(2, more: true).woken == nil && mailbox.reserve().room == 1)
        #expect(mailbox.put(3).woken == "first" && mailbox.wakeWaiter() == "second" && mailbox.wakeWaiter() == nil)
        #expect(mailbox.count == 1 && mailbox.reserve().room == 0)
        for element in 1...3 {
            guard case .element(let taken, let mustCallProducer, _) = mailbox.take(wasWoken: element < 3) else {
                Issue.record("nothing")
                return
            }
            #expect(taken == element && mustCallProducer == (element == 3))
        }
    }

    @Test func `what a woken consumer is about to get is neither replaced nor discarded, and comes before the end`() {
        var mailbox = Machine(capacity: .init(count: 1), overflow: .replacesOldest)
        #expect(mailbox.wait("first") && mailbox.wait("second"))
        // It is woken at once, although more may follow.
        #expect(mailbox.put(1, more: true).woken == "first")
        #expect(mailbox.put(2).woken == "second" && mailbox.put(3).woken == nil && mailbox.put(4).woken == nil)
        #expect(mailbox.replaced == 1 && mailbox.takeGivenWay() == [3] && mailbox.hasUntaken)
        let error = TransportError(.noMemory, "dropped")
        #expect(mailbox.discard(error).elements == [4])
        for element in 1...2 {
            guard case .element(let taken, _, let isLast) = mailbox.take(wasWoken: true) else {
                Issue.record("nothing")
                return
            }
            #expect(taken == element && isLast == (element == 2))
        }
        if case .end(let end) = mailbox.take() { #expect(end == error) } else { Issue.record("no end") }
    }

    @Test func `a consumer that is cancelled leaves no element asleep`() {
        var mailbox = mailbox
        let isAsleep = mailbox.wait("cancelled", isCancelled: true)
        #expect(!isAsleep)
        if case .element = mailbox.take(wasWoken: true) { Issue.record("there was nothing") }
        #expect(mailbox.wait("first") && mailbox.wait("second"))
        #expect(mailbox.put(1).woken == "first" && mailbox.wakeAll() == ["second"])
        // The second is cancelled, and looks first.
        guard case .element = mailbox.take(wasWoken: true), case .nothing = mailbox.take(wasWoken: true) else {
            Issue.record("nothing")
            return
        }
        #expect(mailbox.wait("third") && mailbox.put(2).woken == "third")
    }
}
