import TestSupport
import TurboJPEG

/// The samples of one plane, each an array of its bytes, row by row: what tests compute their expectations with.
struct Matrix: Equatable, CustomStringConvertible {
    var rows: [[[UInt8]]]

    var width: Int { rows.first?.count ?? 0 }
    var height: Int { rows.count }

    /// Flipped horizontally: what was left is right.
    var flipped: Matrix { Matrix(rows: rows.map { $0.reversed() }) }

    /// Turned clockwise by 90 degrees: what was the left column is the top row.
    var turned: Matrix {
        Matrix(rows: (0..<width).map { column in rows.reversed().map { $0[column] } })
    }

    /// The part at the top left, its last column and row repeated where it is larger than this.
    func resized(toWidth width: Int, height: Int) -> Matrix {
        Matrix(
            rows: (0..<height).map { y in (0..<width).map { x in rows[min(y, self.height - 1)][min(x, self.width - 1)] }
            }
        )
    }

    /// The means of the samples that each new one covers, by area: slow and plain.
    func scaledByArea(toWidth width: Int, height: Int) -> [[[Double]]] {
        func shares(_ index: Int, _ from: Int, _ to: Int) -> [(Int, Double)] {
            let (start, end) = (Double(index * from) / Double(to), Double((index + 1) * from) / Double(to))
            return (Int(start)..<min(from, Int(end.rounded(.up)))).map {
                ($0, min(end, Double($0 + 1)) - max(start, Double($0)))
            }
        }
        let columns = (0..<width).map { shares($0, self.width, width) }
        return (0..<height).map { y in
            let rows = shares(y, self.height, height).map { (self.rows[$0.0], $0.1) }
            return columns.map { columns in
                var sums = [Double](repeating: 0, count: self.rows[0][0].count)
                var area = 0.0
                for (row, tall) in rows {
                    for (column, wide) in columns {
                        let sample = row[column]
                        for byte in sums.indices { sums[byte] += tall * wide * Double(sample[byte]) }
                        area += tall * wide
                    }
                }
                return sums.map { $0 / area }
            }
        }
    }

    var description: String {
        rows.map { $0.map { $0.map { String($0, radix: 16) }.joined(separator: ".") }.joined(separator: " ") }
            .joined(separator: "\n")
    }
}

extension PixelBuffer {
    /// The shapes of its planes.
    var planeShapes: [PixelBuffer.Plane] { (0..<planeCount).map { plane($0) } }

    /// The samples of each plane.
    var matrices: [Matrix] {
        (0..<planeCount).map { plane in
            let shape = self.plane(plane)
            return Matrix(
                rows: (0..<shape.height).map { y in
                    let bytes = row(y, ofPlane: plane)
                    return (0..<shape.width).map { x in
                        Array(bytes[x * shape.bytesPerSample..<(x + 1) * shape.bytesPerSample])
                    }
                }
            )
        }
    }

    /// The greatest distance of a sample from the mean of what it covers in a source.
    func worstError(ofMeansOf source: PixelBuffer) -> Double {
        zip(matrices, source.matrices).map { matrix, source in
            let expected = source.scaledByArea(toWidth: matrix.width, height: matrix.height)
            return zip(matrix.rows.joined().joined(), expected.joined().joined()).map { abs(Double($0) - $1) }.max()
                ?? 0
        }.max() ?? 0
    }
}
