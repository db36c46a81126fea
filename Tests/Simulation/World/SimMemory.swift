internal import FrameTransport

/// A descriptor that travels with a byte of a stream.
struct PassedDescriptor {
    /// The place of the byte in the stream.
    let start: Int
    /// The end of the bytes that were written together with it: a read that takes the descriptor goes no further.
    let end: Int
    let memory: SharedMemory
}

/// What has come to an end outside of any event, because its last reference was released.
///
/// - Note: `@unchecked Sendable` holds because there is one thread.
final class Outlet: @unchecked Sendable {
    struct Loan {
        let receiver: Int
        let buffer: Int
        let mapping: SimMapping
        let image: SimImage
    }

    var loans: [Loan] = []
    /// How much memory is mapped at present.
    var mappings = 0
}

/// Descriptors that go with the bytes of a stream, as Linux passes them.
extension World {
    /// How far a read may go, and which descriptors it takes: it ends behind the bytes that one came with.
    func takeDescriptors(_ socket: Int, wanted: Int) -> Int {
        let position = sockets[socket].inbound.position
        let limit = min(wanted, sockets[socket].inbound.visible)
        guard let first = sockets[socket].passed.first, first.start < position + limit else { return wanted }
        // Those that came with the same call are taken together.
        while let next = sockets[socket].passed.first, next.start == first.start {
            arrivals.append(next.memory)
            sockets[socket].passed.removeFirst()
        }
        return min(wanted, first.end - position)
    }

    /// Sends descriptors along with the next bytes.
    func pass(_ memories: [SharedMemory], with count: Int, from socket: Int, to peer: Int) {
        let start = sockets[peer].inbound.position + sockets[peer].inbound.count
        for memory in memories {
            sockets[peer].passed.append(PassedDescriptor(start: start, end: start + count, memory: memory))
        }
        if let monitor = sockets[socket].monitor, let first = memories.first { monitorPassing(monitor, first) }
    }

    /// Loses what has not arrived, with the descriptors that go with it.
    func dropInvisible(_ socket: Int) {
        sockets[socket].inbound.dropInvisible()
        let end = sockets[socket].inbound.position + sockets[socket].inbound.count
        sockets[socket].passed.removeAll { $0.start >= end }
    }

    /// Loses everything that nobody has read.
    func dropInbound(_ socket: Int) {
        sockets[socket].inbound = Pipe()
        sockets[socket].passed.removeAll()
    }

    /// Does what follows when the last reference to something was released.
    func drainOutlet() {
        while !outlet.loans.isEmpty, violation == nil {
            let loans = outlet.loans
            outlet.loans.removeAll()
            for loan in loans { loanEnded(loan) }
        }
    }
}

/// Memory of a sender, as long as somebody has it.
struct WeakMemory {
    weak var memory: SharedMemory?
}
