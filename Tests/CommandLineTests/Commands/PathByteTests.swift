import Foundation
import Testing

/// Names of files that are not UTF-8: the files themselves are read and written, or nothing is.
@Suite(.serialized) struct PathByteTests {
    private let place = Workplace.new

    @Test(arguments: [
        "send $S $N", "send $N $X/jpeg", "send $S $X/jpeg --audio $N", "receive $N", "receive $D/t --output $N",
        "receive $D/t --audio $N", "receive $D/t --wire-log $N", "receive $D/t --metrics $N", "record $N $D/r.mkv",
        "record $D/t $N", "replay $N $S", "doctor $N", "preview $N", "$N", "help $N",
    ])
    func `an argument that is not UTF-8 is refused by name, and nothing is created under another name`(
        command: String
    ) async throws {
        let script = "mkdir $D/p; cd $D/p; N=$(printf 'caf\\351.jpg'); $F \(command); code=$?; ls $D/p $D; exit $code"
        let ending = try await place.shell(script).ended(64)
        let sentence = "framesocket: invalid argument 'caf\\xE9.jpg': not UTF-8; rename the file"
        #expect(ending.errors.hasPrefix(sentence) && ending.errors.split(separator: "\n").count == 1, "\(ending)")
        #expect(!ending.text.contains("caf") && !ending.text.contains("r.mkv"))
    }
}
