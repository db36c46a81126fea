import Foundation
import Locking
import Testing

@testable import FrameTransport

/// The queue between the thread that reads and the tasks that consume.
@Suite(.timeLimit(.minutes(5))) struct MailboxTests {
    @Test func `elements are returned in order, including those added before the end`() async throws {
        let mailbox = Mailbox<Int>(capacity: .max, overflow: .refused)
        for number in 0..<3 { mailbox.put(number) }
        mailbox.end()
        #expect(!mailbox.put(3))
        for number in 0..<3 { #expect(try await mailbox.next() == number) }
        #expect(try await mailbox.next() == nil)
        #expect(try await mailbox.next() == nil)
    }

    @Test func `the first end counts, and is thrown after the elements`() async throws {
        let mailbox = Mailbox<Int>(capacity: 1, overflow: .refused)
        mailbox.put(1)
        mailbox.end(TransportError(.receiveTimedOut, "first"))
        mailbox.end()
        #expect(try await mailbox.next() == 1)
        for _ in 0..<2 {
            let error = await #expect(throws: TransportError.self) { try await mailbox.next() }
            #expect(error?.code == .receiveTimedOut)
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

/// How far a producer may read ahead of its consumer.
@Suite struct ReadAheadTests {
    private var mailbox: MailboxMachine<Int, UInt64> {
        MailboxMachine(capacity: .init(count: 1, longest: 8), overflow: .refused)
    }

    /// Lets a consumer take everything and come back for more.
    private func drain(_ mailbox: inout MailboxMachine<Int, UInt64>) {
        while mailbox.take() != nil {}
        let waiter = mailbox.makeWaiter()
        _ = mailbox.wait(waiter, waiter)
        _ = mailbox.cancel(waiter)
        _ = mailbox.takeDelivery(for: waiter)
    }

    @Test func `one element is read ahead, and more only for a consumer that returned and found nothing`() {
        var mailbox = mailbox
        var windows: [Int] = []
        for _ in 0..<6 {
            let window = mailbox.reserve().room
            windows.append(window)
            for element in 0..<window { _ = mailbox.put(element) }
            drain(&mailbox)
        }
        #expect(windows == [1, 2, 4, 8, 8, 8])
    }

    @Test func `for a consumer that always finds something, one element is read ahead`() {
        var mailbox = mailbox
        for _ in 0..<3 {
            for element in 0..<mailbox.reserve().room { _ = mailbox.put(element) }
            drain(&mailbox)
        }
        // From now on it is slow: it never comes back before there is more.
        var windows: [Int] = []
        for _ in 0..<3 {
            let window = mailbox.reserve().room
            windows.append(window)
            for element in 0..<window { _ = mailbox.put(element) }
            while mailbox.take() != nil {}
        }
        #expect(windows == [8, 1, 1])
    }

    @Test func `a long window is refilled when half of it has been taken, and not for a slow consumer`() {
        var mailbox = mailbox
        for _ in 0..<3 {
            for element in 0..<mailbox.reserve().room { _ = mailbox.put(element, weight: 10) }
            drain(&mailbox)
        }
        for element in 0..<mailbox.reserve().room { _ = mailbox.put(element, weight: 10) }
        var reserved = mailbox.reserve()
        #expect(reserved.room == 0)
        let calls = (0..<4).map { _ in mailbox.take()?.mustCallProducer }
        #expect(calls == [false, false, false, true])
        reserved = mailbox.reserve()
        #expect(reserved.room == 4 && reserved.waitingWeight == 40)
        // It has taken more than half a window and found something each time.
        _ = mailbox.take()
        reserved = mailbox.reserve()
        #expect(reserved.room == 0)
        let lastCalls = (0..<3).map { _ in mailbox.take()?.mustCallProducer }
        #expect(lastCalls == [false, false, true])
        reserved = mailbox.reserve()
        #expect(reserved.room == 1)
    }

    @Test func `a producer may wait until everything has been taken`() {
        var mailbox = mailbox
        for _ in 0..<2 {
            for element in 0..<mailbox.reserve().room { _ = mailbox.put(element) }
            drain(&mailbox)
        }
        for element in 0..<mailbox.reserve().room { _ = mailbox.put(element) }
        var calls = (0..<2).map { _ in mailbox.take()?.mustCallProducer }
        #expect(calls == [false, false])
        let room = mailbox.reserve(onceEmpty: true).room
        #expect(room == 0)
        calls = (0..<2).map { _ in mailbox.take()?.mustCallProducer }
        #expect(calls == [false, true])
    }

    @Test func `nothing is read ahead while something waits, and the producer is called when nothing does`() {
        var mailbox = mailbox
        #expect(mailbox.reserve().room == 1)
        _ = mailbox.put(1)
        #expect(mailbox.reserve().room == 0)
        #expect(mailbox.take()?.mustCallProducer == true)
    }

    @Test func `a consumer is woken once for several elements`() {
        var mailbox = mailbox
        let waiter = mailbox.makeWaiter()
        let isServed = mailbox.wait(waiter, waiter)
        #expect(!isServed)
        #expect(mailbox.reserve().room == 1)
        var woken = mailbox.put(1, more: true).woken
        #expect(woken == nil)
        // The waiter's own element is not read ahead.
        #expect(mailbox.reserve().room == 1)
        woken = mailbox.put(2, more: true).woken
        #expect(woken == nil)
        #expect(mailbox.reserve().room == 0)
        woken = mailbox.wakeWaiter()
        #expect(woken == waiter)
        woken = mailbox.wakeWaiter()
        #expect(woken == nil)
        guard case .element(let taken) = mailbox.takeDelivery(for: waiter) else {
            Issue.record("the waiter got nothing")
            return
        }
        #expect(taken.element == 1 && !taken.mustCallProducer)
        #expect(mailbox.take()?.mustCallProducer == true)
    }

    @Test func `a lone element is delivered at once, but never before one that was held back`() {
        var mailbox = mailbox
        let waiters = [mailbox.makeWaiter(), mailbox.makeWaiter()]
        for waiter in waiters { _ = mailbox.wait(waiter, waiter) }
        var woken = mailbox.put(1).woken
        #expect(woken == waiters[0])
        _ = mailbox.put(2, more: true)
        woken = mailbox.put(3).woken
        #expect(woken == nil)
        woken = mailbox.wakeWaiter()
        #expect(woken == waiters[1])
        guard case .element(let taken) = mailbox.takeDelivery(for: waiters[1]) else {
            Issue.record("the waiter got nothing")
            return
        }
        #expect(taken.element == 2)
        #expect(mailbox.take()?.element == 3)
    }

    @Test func `a waiting consumer gets what exists before the end`() {
        var mailbox = mailbox
        let waiters = [mailbox.makeWaiter(), mailbox.makeWaiter()]
        for waiter in waiters { _ = mailbox.wait(waiter, waiter) }
        _ = mailbox.put(1, more: true)
        #expect(mailbox.end(nil) == waiters)
        guard case .element(let taken) = mailbox.takeDelivery(for: waiters[0]),
            case .end(nil) = mailbox.takeDelivery(for: waiters[1])
        else {
            Issue.record("the end came before the element")
            return
        }
        #expect(taken.element == 1 && taken.isLast)
    }

    @Test func `elements that are replaced by newer ones wake their consumer at once`() {
        var mailbox = MailboxMachine<Int, UInt64>(capacity: .init(count: 1), overflow: .replacesOldest)
        let waiter = mailbox.makeWaiter()
        _ = mailbox.wait(waiter, waiter)
        let woken = mailbox.put(1, more: true).woken
        #expect(woken == waiter)
    }
}
