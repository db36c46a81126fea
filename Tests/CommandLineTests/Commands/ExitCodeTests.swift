import TestDescriptions
import Testing

/// What the exit code says, case by case; usage (64) has a table of its own.
@Suite(.serialized) struct ExitCodeTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    @Test(
        arguments: [
            (0, "$F send $S $X/jpeg", ""),
            (0, "$F send $S - <$X/jpeg/chelsea-420.jpg", ""),
            (65, "echo 'no image' >$D/x.jpg; $F send $S $D/x.jpg", "x.jpg"),
            (65, "head -c 20000 $X/jpeg/chelsea-420.jpg >$D/x.jpg; $F send $S $D/x.jpg", "x.jpg"),
            (65, "head -c 5000 $X/photos/chelsea-451x300.png >$D/x.png; $F send $S $D/x.png", "x.png"),
            (65, "head -c 100 $X/jpeg/chelsea-420.jpg >$D/x.jpg; $F send $S $D/x.jpg --passthrough", "x.jpg"),
            (65, "$F send $S $X/photos/chelsea-451x300.png --passthrough", "--passthrough sends only JPEGs"),
            (65, "$F send $S - </dev/null", "no image on standard input: it is empty"),
            (65, "$F send $S - --size 4x4 --format rgb </dev/null", "no image on standard input: it is empty"),
            (65, "printf 'YUV4MPEG2 W4 H2\\n' | $F send $S -", "input: it ends behind the header \"YUV4MPEG2 W4 H2\""),
            (65, "echo text | $F send $S -", "no image on standard input: no JPEG in 5 bytes"),
            (65, "head -c 20000 $X/jpeg/chelsea-420.jpg | $F send $S -", "frame 0: the JPEG"),
            (65, "head -c 47 /dev/zero | $F send $S - --size 4x4 --format rgb", "after 47 of 48 bytes"),
            (66, "$F send $S $D/none.jpg", "none.jpg"),
            (65, "$F send $S $X/jpeg/chelsea-420.jpg $D/none.jpg", "none.jpg: no such file"),
            (66, "mkdir $D/empty; $F send $S $D/empty", "no images"),
            (69, "$F send $D/none $X/jpeg/chelsea-420.jpg --wait 0.3", "none"),
            (69, "$F send $D/none $X/jpeg/chelsea-420.jpg --wait 0.3 --json --quiet", "none"),
            (69, "$F receive $S", "another server"),
            (73, "$F receive $D/none/s", "directory"),
            (73, "$F receive $D/$(printf '%0120d' 0)", "135 bytes"),
            (73, "$F send $D/$(printf '%0120d' 0) $X/jpeg", "135 bytes"),
            (73, "touch $D/file; $F receive $D/file", "not a socket"),
            (73, "mkdir -m 777 $D/open; $F receive $D/open/s", "chmod go-w"),
            (73, "mkdir -m 777 $D/open; $F receive $D/open/s --json >&2", "path.unsafe"),
            (73, "ln -s $D/none $D/t.lock; $F receive $D/t", "singly linked file"),
            (73, "touch $D/file; $F receive $D/t --output $D/file/out", "file"),
            (73, "$F receive $D/t --json >/dev/full", "standard output"),
            (75, "$F receive $D/t --count 1 --timeout 0.1", "0 of 1 frames within 0.1 seconds"),
            (75, "$F receive $D/t --timeout 0.1 --quiet --json", "no frame within 0.1 seconds"),
        ].map { (Int32($0), Short($1), $2) }
    )
    func `every failure has its exit code`(code: Int32, command: Short, reason: String) async throws {
        // Somebody listens at $S, whom nothing of this may disturb.
        let receiver = try await place.receiver("--json")
        let ending = try await place.shell(command.text).ended()
        #expect(ending.status == code && ending.errors.contains(reason), "\(ending)")
        receiver.send(.interrupt)
        #expect(await receiver.ended().status == 130)
    }

    @Test func `a server that reaches its count within its time succeeds`() async throws {
        let receiver = try await place.receiver("--count", "1", "--timeout", "60")
        #expect(try await place.send(Places.fixture("jpeg/chelsea-420.jpg")).status == 0)
        #expect(await receiver.ended().status == 0)
    }
}
