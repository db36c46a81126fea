import FrameTransport
import TestDescriptions
import Testing

@testable import FrameSocket

/// Which shared buffer is filled next, and until when an image waits for one.
@Suite(.tags(.computes)) struct SharingTests {
    private var sharing = Sharing()
    private var terms = ReceiverTerms()

    /// Three buffers, of which each has been filled, the last one last.
    init() {
        connect()
        for index in 0..<Sharing.count { sharing.fill(place(index)) }
    }

    private mutating func connect() {
        change { terms in
            (terms.connection, terms.isConnected) = (terms.connection + 1, true)
            (terms.isGreeted, terms.mayShareMemory, terms.acceptsSharedMemory) = (true, true, true)
        }
    }

    private mutating func change(isAllowed: Bool = true, at now: UInt64 = 0, _ change: (inout ReceiverTerms) -> Void) {
        let old = terms
        change(&terms)
        _ = sharing.follow(terms, after: old, isAllowed: isAllowed, at: now)
    }

    private func place(_ index: Int, byteCount: Int = 4_096) -> Sharing.Place {
        Sharing.Place(index: index, generation: sharing.generation, byteCount: byteCount)
    }

    @Test mutating func `of the free buffers, the one that was filled last is used first`() {
        #expect(sharing.place(for: 4_096)?.index == 2)
        _ = sharing.submitted(place(2), at: 0)
        #expect(sharing.place(for: 4_096)?.index == 1)
        sharing.fill(place(0))
        change { $0.releases[2] += 1 }
        #expect(sharing.place(for: 4_096)?.index == 0)
    }

    @Test mutating func `a buffer of another size is replaced before a new one is made`() {
        change(isAllowed: false) { _ in }
        change { _ in }
        sharing.fill(place(1))
        #expect(sharing.place(for: 100)?.index == 1)
    }

    @Test mutating func `there is no buffer while the receiver has each, for two seconds`() {
        for index in 0..<Sharing.count {
            #expect(sharing.hasFree)
            _ = sharing.submitted(place(index), at: UInt64(index))
        }
        #expect(!sharing.hasFree && sharing.place(for: 4_096) == nil)
        #expect(sharing.waitEnd == 2_000_000_002)
        // A receiver may name buffers that there are not.
        change { $0.releases[7] += 1 }
        #expect(!sharing.hasFree)
        change { $0.releases[1] += 1 }
        #expect(sharing.place(for: 4_096)?.index == 1)
    }

    @Test mutating func `what is released late says nothing about the memory of the next connection`() {
        let old = place(0)
        _ = sharing.submitted(old, at: 0)
        connect()
        #expect(!sharing.isCurrent(old))
        sharing.fill(place(0))
        var isNew = [sharing.submitted(place(0), at: 0)]
        sharing.settled(old, isSent: false)
        #expect(sharing.place(for: 4_096)?.index != 0)
        isNew.append(sharing.submitted(place(0), at: 0))
        sharing.settled(place(0), isSent: true)
        isNew.append(sharing.submitted(place(0), at: 0))
        #expect(isNew == [true, true, false])
    }
}
