@testable import FrameSocketTool

/// All that is in a Matroska file.
struct MatroskaContents {
    var entries: [MatroskaReader.Entry] = []
    var damages: [MatroskaDamage] = []
    var isCut = false

    var isWhole: Bool { !isCut && damages.isEmpty }

    init(of bytes: [UInt8]) throws {
        var reader = MatroskaReader(InputFile(bytes, name: "r.mkv"))
        while let part = try reader.next() {
            switch part {
            case .frame(let entry): entries.append(entry)
            case .damage(let damage): damages.append(damage)
            }
        }
        isCut = reader.isCut
    }
}
