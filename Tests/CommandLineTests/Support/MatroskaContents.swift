@testable import FrameSocketTool

/// All that is in a Matroska file.
struct MatroskaContents {
    var entries: [MatroskaReader.Entry] = []
    /// Why it is not read to its end; nil if it is.
    var failure: CommandFailure?
    var isCut = false

    var isWhole: Bool { !isCut && failure == nil }

    init(of bytes: [UInt8]) {
        var reader = MatroskaReader(InputFile(bytes, name: "r.mkv"))
        do throws(CommandFailure) {
            while let entry = try reader.next() { entries.append(entry) }
        } catch {
            failure = error
        }
        isCut = reader.isCut
    }
}
