/// The memory that an uploader's frames take, and may take: a snapshot, in bytes.
///
/// What may be allocated is known beforehand: a recipe's ``MemoryNeed`` is the worst case, so that nothing has to be given
/// up while a frame is being encoded. The image that is kept behind a JPEG is spare: it is given up for anything newer,
/// and never stands in the way.
struct MemoryLedger: Sendable {
    /// The most that all of it may take.
    let limit: Int
    /// The shared buffers.
    let buffers: Int
    /// The frame with the encoder, or with the connection, without what is spare.
    let inProgress: Int
    /// The waiting frame, until it is encoded.
    let waiting: Int
    /// The waiting frame, while it is encoded.
    let waitingTotal: Int
    let deferred: Int
    /// The frame sent last, with what is spare.
    let sent: Int
    /// What is spare of the frame sent last.
    let sentSpare: Int
    /// What is spare of the frame in progress.
    let inProgressSpare: Int

    /// Everything that is held.
    @inline(__always)
    var held: Int { buffers + inProgress + inProgressSpare + waiting + deferred + sent }

    /// The most that frames may take beside the shared buffers.
    @inline(__always)
    var frameLimit: Int { limit - buffers }

    /// Whether a frame can wait beside the one in progress, and can be encoded.
    @inline(__always)
    func hasRoom(for byteCount: Int, total: Int) -> Bool {
        total <= frameLimit && byteCount <= frameLimit - inProgress
    }

    /// Whether a frame can be kept while an older frame waits, and while that one is encoded.
    @inline(__always)
    func fitsBesideWaiting(_ byteCount: Int) -> Bool {
        byteCount <= frameLimit - max(inProgress + waiting, waitingTotal)
    }

    /// What has to go of the frame sent last so that `byteCount` bytes fit beside the frame in progress.
    enum Sacrifice {
        case nothing, spare, frame
    }

    @inline(__always)
    func sacrifice(for byteCount: Int) -> Sacrifice {
        let room = frameLimit - inProgress - inProgressSpare
        if byteCount <= room - sent { return .nothing }
        return sentSpare > 0 && byteCount <= room - sent + sentSpare ? .spare : .frame
    }
}
