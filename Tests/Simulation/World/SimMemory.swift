internal import FrameSocket
internal import FrameTransport

/// Memory that one process has created, and others may map.
@safe final class SharedRegion {
    let bytes: UnsafeRawBufferPointer
    /// The memory of a sender of this package; nil for that of a peer.
    let memory: SharedMemory?
    private let owned: UnsafeMutableRawBufferPointer?

    init(_ memory: SharedMemory) {
        self.memory = memory
        unsafe owned = nil
        unsafe bytes = UnsafeRawBufferPointer(memory.bytes)
    }

    /// Creates the memory of a peer that is not of this package.
    init(_ content: [UInt8]) {
        memory = nil
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, content.count), alignment: 64)
        unsafe copy.copyBytes(from: content)
        unsafe owned = copy
        unsafe bytes = UnsafeRawBufferPointer(copy)
    }

    deinit {
        unsafe owned?.deallocate()
    }
}

/// A descriptor that refers to memory, on its way or in a process.
struct SimDescriptor {
    /// What is wrong with the memory, if the peer that made it means harm.
    enum Fault {
        case unsealed, missized, hollow
    }

    let region: SharedRegion
    var fault: Fault?
}

/// A descriptor that travels with a byte of a stream.
struct PassedDescriptor {
    /// The place of the byte in the stream.
    let start: Int
    /// The end of the bytes that were written together with it: a read that takes the descriptor goes no further.
    let end: Int
    let descriptor: SimDescriptor
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
            arrivals.append(next.descriptor)
            sockets[socket].passed.removeFirst()
        }
        return min(wanted, first.end - position)
    }

    /// Sends descriptors along with the next bytes.
    func pass(_ descriptors: [SimDescriptor], with count: Int, from socket: Int, to peer: Int) {
        let start = sockets[peer].inbound.position + sockets[peer].inbound.count
        for descriptor in descriptors {
            sockets[peer].passed.append(PassedDescriptor(start: start, end: start + count, descriptor: descriptor))
        }
        let monitor = sockets[socket].monitor
        if monitor >= 0, let first = descriptors.first { monitorPassing(monitor, first.region) }
    }

    /// Loses what has not arrived, with the descriptors that go with it.
    func dropInvisible(_ socket: Int) {
        sockets[socket].inbound.dropInvisible()
        let end = sockets[socket].inbound.position + sockets[socket].inbound.count
        if !sockets[socket].passed.isEmpty { sockets[socket].passed.removeAll { $0.start >= end } }
    }

    /// Loses everything that nobody has read.
    func dropInbound(_ socket: Int) {
        sockets[socket].inbound.removeAll()
        if !sockets[socket].passed.isEmpty { sockets[socket].passed.removeAll() }
    }

    /// Does what follows when the last reference to something was released.
    func drainOutlet() {
        while !outlet.loans.isEmpty, violation == nil {
            let loans = outlet.loans
            outlet.loans.removeAll(keepingCapacity: true)
            for loan in loans { loanEnded(loan) }
        }
    }
}

/// Memory of a sender, as long as somebody has it.
struct WeakMemory {
    weak var memory: SharedMemory?
}
