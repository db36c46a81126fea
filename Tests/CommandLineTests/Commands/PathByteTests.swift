import Foundation
import FrameSocketTesting
import Testing

/// Names of files that are not UTF-8: the files themselves are read and written, or nothing is.
@Suite(.serialized) struct PathByteTests {
    private let place = Workplace.new
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    @Test(arguments: [
        "send $S $N", "send $N $X/jpeg", "send $S $X/jpeg --audio $N", "receive $N", "receive $D/t --output $N",
        "receive $D/t --audio $N", "receive $D/t --wire-log $N", "receive $D/t --metrics $N", "record $N $D/r.mkv",
        "record $D/t $N", "replay $N $S", "doctor $N", "preview $N", "$N", "help $N",
    ])
    func `an argument that is not UTF-8 is refused by name, and nothing is created under another name`(
        command: String
    ) async throws {
        let script = "mkdir $D/p; cd $D/p; N=$(printf 'caf\\351.jpg'); $F \(command); code=$?; ls $D/p $D; exit $code"
        let ending = try await place.shell(script).ended()
        #expect(ending.status == 64, "\(ending)")
        let sentence = "framesocket: invalid argument 'caf\\xE9.jpg': not UTF-8; rename the file"
        #expect(ending.errors.hasPrefix(sentence) && ending.errors.split(separator: "\n").count == 1, "\(ending)")
        #expect(!ending.text.contains("caf") && !ending.text.contains("r.mkv"))
    }

    @Test func `a directory's files are sent whatever their names, and bad ones are named by their bytes`() async throws
    {
        let receiver = try await place.receiver("--json", "--count", "3")
        let ending = try await place.shell(
            """
            mkdir $D/p; cp \(jpeg) "$D/p/$(printf 'a\\377\\303\\251.jpg')"; cp \(jpeg) $D/p/b.jpg
            echo bad >"$D/p/$(printf 'c\\376\\303.jpg')"; cp \(jpeg) "$D/p/$(printf '\\200.JPG')"
            $F send $S $D/p
            """
        ).ended()
        #expect(ending.status == 65, "\(ending)")
        #expect(ending.errors.contains("p/c\\xFE\\xC3.jpg: not a JPEG"), "\(ending)")
        #expect(try await receiver.ended().events("frame").count == 3)
    }

    @Test func `a program works within a directory whose name is not UTF-8`() async throws {
        let ending = try await place.shell(
            """
            N=$(printf '\\377'); mkdir $D/$N; chmod 700 $D/$N; cd $D/$N
            $F receive ./socket --count 2 --output ./out --quiet & $F send ./socket \(jpeg) \(jpeg) --wait 60
            wait $! && ls $D/$N/out && ls $D
            """
        ).ended()
        #expect(ending.status == 0, "\(ending)")
        let lines = ending.output.split(separator: UInt8(ascii: "\n"))
        #expect(lines.count { $0.suffix(4).elementsEqual(".jpg".utf8) } == 2)
    }
}
