/// A part of an image with long sides that is scaled separately.
///
/// libyuv stores positions in 16 bits and a fraction: for a side over 32,767 it reads outside the image, or leaves the
/// result unchanged. Such sides are divided into pieces that it can handle.
struct ScalingTile {
    /// The longest side that libyuv can scale.
    private static let longestSide = 32_767
    /// The maximum number of samples of a piece.
    private static let pieceLength = 16_384

    private let columns: Piece
    private let rows: Piece

    /// A piece of a side, and its result.
    private struct Piece {
        let source: Range<Int>
        let target: Range<Int>
    }

    /// Returns whether an area has more positions than libyuv can count.
    @unsafe static func isNeeded(for area: UnsafeArea) -> Bool {
        unsafe Int(max(area.width, area.height)) > longestSide
    }

    /// Returns the tiles of an area and its target.
    @unsafe static func all(_ from: UnsafeArea, _ to: UnsafeArea) -> [ScalingTile] {
        let columns = unsafe pieces(of: Int(from.width), into: Int(to.width))
        let rows = unsafe pieces(of: Int(from.height), into: Int(to.height))
        return rows.flatMap { rows in columns.map { ScalingTile(columns: $0, rows: rows) } }
    }

    @unsafe func source(of area: UnsafeArea) -> UnsafeArea { unsafe area.part(columns.source, rows.source) }
    @unsafe func target(of area: UnsafeArea) -> UnsafeArea { unsafe area.part(columns.target, rows.target) }

    private static func pieceCount(_ side: Int) -> Int {
        side > longestSide ? (side + pieceLength - 1) / pieceLength : 1
    }

    /// Divides a side into pieces; boundaries are exact on the shorter side and rounded down on the longer one.
    private static func pieces(of source: Int, into target: Int) -> [Piece] {
        let count = pieceCount(source)
        let (shorter, longer) = (min(source, target), max(source, target))
        return (0..<count).map { index in
            let short = (shorter * index / count)..<(shorter * (index + 1) / count)
            let long = (short.lowerBound * longer / shorter)..<(short.upperBound * longer / shorter)
            return source <= target ? Piece(source: short, target: long) : Piece(source: long, target: short)
        }
    }
}
