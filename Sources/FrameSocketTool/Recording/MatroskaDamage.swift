/// A part of a Matroska file that cannot be read.
struct MatroskaDamage: CustomStringConvertible {
    enum Reason {
        case malformed
        case endless
        case tooLarge
        case outside
        case misplaced
        case noCluster
        case swallowing
        case noFrame
        case lostFrame
        case foreignTrack(UInt64, only: UInt64)
        case badBlock
        case badTime
    }

    /// How far it reaches.
    enum Extent {
        /// To this byte, from which the file is read on.
        case to(UInt64)
        /// To this byte, the end, from within a cluster or another element.
        case rest(end: UInt64)
        /// To this byte, the end, from where no element was left open.
        case appendix(end: UInt64)
    }

    let start: UInt64
    let extent: Extent
    let reason: Reason

    var description: String {
        switch extent {
        case .to(let end): "damaged from byte \(start) to byte \(end): \(cause)"
        case .rest(let end): "damaged from byte \(start) to its end at byte \(end): \(cause)"
        case .appendix(let end):
            "\(end - start) bytes from byte \(start) on are no part of the recording: no element of Matroska begins there"
        }
    }

    private var cause: String {
        switch reason {
        case .malformed: "no element begins there"
        case .endless: "an element without an end"
        case .tooLarge: "an element that is too large"
        case .outside: "an element runs past the end of the one that contains it"
        case .misplaced: "an element within one that cannot contain it"
        case .noCluster: "an element that is no cluster, although its content begins as that of one"
        case .swallowing: "an element that contains the next cluster"
        case .noFrame: "a cluster without a frame"
        case .lostFrame: "an element that is no frame, although its content begins as that of one"
        case .foreignTrack(let number, let only): "a frame of track \(number), while the only track is \(only)"
        case .badBlock: "a block whose header cannot be read"
        case .badTime: "a time beyond all bounds"
        }
    }
}
