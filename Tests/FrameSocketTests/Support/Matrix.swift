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
}
