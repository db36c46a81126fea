import Foundation
import Testing

/// How `framesocket` reads its arguments.
@Suite(.serialized) struct UsageTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    @Test(arguments: [
        ("$F --help", ["Usage: framesocket COMMAND", "receive", "send", "doctor"]),
        ("$F -h", ["Usage: framesocket COMMAND"]),
        ("$F help", ["Usage: framesocket COMMAND"]),
        ("$F help receive", ["Usage: framesocket receive PATH"]),
        ("$F --version", ["framesocket 0."]),
        ("$F receive --version", ["framesocket 0."]),
        ("$F doctor $S --version", ["framesocket 0."]),
        (
            "$F receive --help",
            ["Usage: framesocket receive PATH", "--count", "--output", "--decode", "--json", "--raw"]
        ),
        ("$F receive $S --count 3 -h", ["Usage: framesocket receive PATH"]),
        ("$F send --help", ["Usage: framesocket send PATH FILE", "--fps", "--loop", "--passthrough", "--size"]),
        ("$F record --help", ["Usage: framesocket record PATH FILE", "--once", "--overwrite"]),
        ("$F replay --help", ["Usage: framesocket replay PATH FILE", "--speed"]),
        ("$F doctor --help", ["Usage: framesocket doctor PATH", "--json", "--timeout"]),
    ])
    func `help goes to standard output and is a success`(command: String, parts: [String]) async throws {
        let ending = try await place.shell(command).ended()
        #expect(ending.status == 0 && ending.errors == "", "\(ending)")
        for part in parts { #expect(ending.text.contains(part)) }
        #expect(ending.lines.allSatisfy { $0.count <= 80 })
    }

    @Test(arguments: [
        ("$F", "Usage: framesocket COMMAND"),
        ("$F recieve $S", "unknown command 'recieve'"),
        ("$F help recieve", "unknown command 'recieve'"),
        ("$F --json", "unknown command"),
        ("$F receive", "one path"),
        ("$F receive $S $S", "one path"),
        ("$F receive $S --cuont 3", "unknown option '--cuont'"),
        ("$F receive $S -x", "unknown option '-x'"),
        ("$F receive $S --count", "option '--count' requires a value"),
        ("$F receive $S --count --json", "option '--count' requires a value"),
        ("$F receive $S --count 0", "for --count: expected a whole number from 1"),
        ("$F receive $S --count three", "for --count: expected"),
        ("$F receive $S --count=", "for --count: expected"),
        ("$F receive $S --count 99999999999999999999", "for --count: expected"),
        ("$F receive $S --json --mjpeg", "--json, --mjpeg, --raw and --y4m are mutually exclusive"),
        ("$F receive $S --raw bgra --mjpeg", "--json, --mjpeg, --raw and --y4m are mutually exclusive"),
        ("$F receive $S --output ''", "invalid value '' for --output: expected a path"),
        ("$F receive $S --wire-log ''", "invalid value '' for --wire-log: expected a path"),
        ("$F receive $S --audio=", "invalid value '' for --audio: expected a path"),
        ("$F receive $S --metrics ''", "invalid value '' for --metrics: expected a path"),
        ("$F receive $S --token-file ''", "invalid value '' for --token-file: expected a path"),
        ("$F preview $S --http-name ''", "invalid value '' for --http-name: expected a host name"),
        ("$F preview $S --http-name x.example:80", "for --http-name: expected a host name"),
        ("$F preview $S --http-name http://x.example/", "for --http-name: expected a host name"),
        ("$F preview $S --http-name X.Example.", "for --http-name: expected a host name"),
        ("$F receive ''", "an argument is empty"),
        ("$F record $S ''", "an argument is empty"),
        ("$F send '' $X/jpeg", "an argument is empty"),
        ("$F send $S ''", "an argument is empty"),
        ("$F replay '' $S", "an argument is empty"),
        ("$F preview ''", "an argument is empty"),
        ("$F receive $S --wire-log - --json", "--wire-log - cannot be combined with --json"),
        ("$F receive $S --wire-log - --mjpeg", "--wire-log - cannot be combined with --json"),
        ("$F receive $S --wire-log - --y4m", "--wire-log - cannot be combined with --json"),
        ("$F receive $S --wire-log - --stats json", "--wire-log - cannot be combined with --json"),
        ("$F receive $S --raw tga", "invalid value \'tga\' for --raw: expected one of bgra"),
        ("$F receive $S --mjpeg --letterbox 4x4", "--letterbox requires --raw"),
        ("$F receive $S --json --fill 4x4", "--fill requires --raw or --y4m"),
        ("$F receive $S --stretch 4x4", "--stretch requires --raw or --y4m"),
        ("$F receive $S --y4m --stretch 4x4 --fill 4x4", "--letterbox, --fill and --stretch are mutually exclusive"),
        ("$F receive $S --y4m --fill 0x4", "invalid value \'0x4\' for --fill: expected a size such as 1920x1080"),
        ("$F receive $S --y4m --stretch nanx-1", "invalid value \'nanx-1\' for --stretch: expected a size"),
        ("$F send $S $X/jpeg --preset 721p", "invalid value \'721p\' for --preset: expected 360p, 540p, 720p, 1080p"),
        ("$F send $S $X/jpeg --preset 720p-up", "with -landscape or -portrait"),
        ("$F send $S $X/jpeg --preset -720p", "invalid value \'-720p\' for --preset"),
        ("$F send $S $X/jpeg --preset 720p --fit 4x4", "--preset and --agora are mutually exclusive"),
        ("$F receive $S --raw bgra --letterbox 65501x4", "--letterbox: at most 65500 per side"),
        ("$F receive $S --raw bgra --letterbox 4x65501", "--letterbox: at most 65500 per side"),
        ("$F send $S $X/jpeg --letterbox 65501x4", "--letterbox: at most 65500 per side"),
        ("$F send $S $X/jpeg --fit 4x65501", "--fit: at most 65500 per side"),
        ("$F send $S $X/jpeg --fill 65501x65501", "--fill: at most 65500 per side"),
        ("$F receive $S --upright", "--upright requires --raw or --y4m"),
        ("$F receive $S --overwrite", "--overwrite requires --output or --audio"),
        ("$F receive $S --audio a --wire-log a", "--wire-log and --audio name the same file"),
        ("$F receive $S --audio a --metrics a", "--audio and --metrics name the same file"),
        ("$F receive $S --wire-log a --metrics a", "--wire-log and --metrics name the same file"),
        ("$F receive $S --audio a --wire-log ./a", "--wire-log and --audio name the same file"),
        ("$F receive $S --audio $D/a --metrics $D/./a", "--audio and --metrics name the same file"),
        ("cd $D; $F receive $S --audio $D/a --wire-log a", "--wire-log and --audio name the same file"),
        ("$F receive $S --metrics $S", "PATH and --metrics name the same file"),
        ("$F receive $S --metrics $S.lock", "PATH.lock and --metrics name the same file"),
        ("$F receive $S --wire-log $S.lock", "PATH.lock and --wire-log name the same file"),
        ("$F receive $S --audio $S", "PATH and --audio name the same file"),
        ("cd $D; $F receive s --audio $S", "PATH and --audio name the same file"),
        ("$F receive $S --output $S", "PATH and --output name the same file"),
        ("$F receive $S --output $S.lock", "PATH.lock and --output name the same file"),
        // The counters are first written to a hidden file.
        ("$F receive $D/.framesocket.m --metrics $D/m", "PATH and --metrics name the same file"),
        ("$F receive $S --audio $D/.framesocket.m --metrics $D/m", "--audio and --metrics name the same file"),
        ("$F record $S $S --overwrite", "PATH and FILE name the same file"),
        ("$F record $S $S.lock --overwrite", "PATH.lock and FILE name the same file"),
        ("$F receive $S --audio - --json", "--audio - cannot be combined with --json"),
        ("$F receive $S --audio - --raw bgra", "--audio - cannot be combined with --json"),
        ("$F receive $S --audio - --stats json", "--audio - cannot be combined with --json"),
        ("$F receive $S --audio - --wire-log -", "--audio - cannot be combined with --json"),
        ("$F receive $S --metrics -", "--metrics writes to a file"),
        ("$F receive $S --stats xml", "for --stats: expected json"),
        ("$F receive $S --timeout -1", "for --timeout: expected"),
        ("$F receive $S --timeout 1e300", "for --timeout: expected"),
        ("$F receive $S --timeout nan", "for --timeout: expected"),
        ("$F receive $S --prefer-rate 1e300", "for --prefer-rate: expected"),
        ("$F receive $S --prefer-size 16385x1", "for --prefer-size: expected a size of 1 to 16384 pixels per side"),
        ("$F receive $S --prefer-size 1x20000", "for --prefer-size: expected a size of 1 to 16384 pixels per side"),
        ("$F receive $S --prefer-size 0x1", "for --prefer-size: expected a size of 1 to 16384 pixels per side"),
        ("$F send $S $X/jpeg --fps 1e-300", "for --fps: expected"),
        ("$F send $S $X/jpeg --wait inf", "for --wait: expected"),
        ("$F doctor", "one path"),
        ("$F doctor tcp:80", "invalid path 'tcp:80'"),
        ("$F doctor $S --timeout 0", "for --timeout: expected"),
        ("$F send", "path of a server"),
        ("$F send $S", "at least one file"),
        ("$F send $S $X/jpeg --quality 0", "for --quality: expected a whole number from 1 to 100"),
        ("$F send $S $X/jpeg --quality 101", "for --quality: expected"),
        ("$F send $S $X/jpeg --scale 3/2", "for --scale: expected a fraction"),
        ("$F send $S $X/jpeg --scale 1/0", "for --scale: expected a fraction"),
        ("$F send $S $X/jpeg --orientation 9", "for --orientation: expected a whole number from 0 to 8"),
        ("$F send $S $X/jpeg --subsampling 4:2:1", "for --subsampling: expected"),
        ("$F send $S $X/jpeg --fps 0", "for --fps: expected a number from 0.000001"),
        ("$F send $S $X/jpeg --loop -1", "for --loop: expected a whole number from 0"),
        ("$F send $S $X/jpeg --passthrough --scale 1/2", "--passthrough"),
        ("$F send $S $X/jpeg --plain --shared", "--plain and --shared are mutually exclusive"),
        ("$F send $S $X/jpeg --size 4x4 --format rgb", "raw video requires"),
        ("$F send $S - --size 4x4", "raw video requires"),
        ("$F send $S - --format rgb", "raw video requires"),
        ("$F send $S - --size 4x --format rgb", "for --size: expected a size such as 1920x1080"),
        ("$F send $S - --size 0x4 --format rgb", "for --size: expected"),
        ("$F send $S - $X/jpeg", "standard input"),
        ("$F send $S - --loop 2", "standard input (-) cannot be sent more than once"),
    ])
    func `invalid usage ends with exit code 64 and an explanation, and has no effect`(
        command: String,
        complaint: String
    ) async throws {
        let ending = try await place.shell(command).ended()
        #expect(ending.status == 64 && ending.output.isEmpty, "\(ending)")
        #expect(ending.errors.contains(complaint))
        #expect(try place.names() == [])
    }

    @Test(arguments: [
        ("ln -s one two", "receive s --wire-log one --audio two"),
        (": >one; ln one two", "receive s --wire-log one --audio two"),
        (": >one; ln -s one two", "receive s --audio two --metrics one"),
        ("mkdir d; ln -s d e", "receive s --wire-log d/one --audio e/one"),
        ("mkdir d; ln -s ../one d/two; ln -s d/two three", "receive s --wire-log one --audio three"),
        ("mkfifo one; ln one two", "receive s --wire-log one --audio two"),
        ("ln -s s.lock two", "receive s --wire-log two"),
        ("ln -s s two", "record s two --overwrite"),
        ("(umask 77; echo secret >k); ln k two", "receive s --token-file k --wire-log two"),
        ("(umask 77; echo secret >k; echo other >l)", "record s l --overwrite --token-file k --peer-token-file l"),
    ])
    func `two names of one file do not serve two purposes`(preparation: String, command: String) async throws {
        let ending = try await place.shell(
            "cd $D; \(preparation); ls >list; timeout 60 $F \(command); code=$?; ls; exit $code"
        )
        .ended()
        #expect(ending.status == 64 && ending.errors.contains("name the same file"), "\(ending)")
        let list = String(decoding: try Data.bytes(at: place.path("list")), as: UTF8.self)
        #expect(ending.text == list)
        for name in ["k", "l"] where list.contains("\(name)\n") {
            #expect(try !Data.bytes(at: place.path(name)).isEmpty)
        }
    }

    @Test func `a device may serve several purposes`() async throws {
        let command = "receive $S --wire-log /dev/null --audio /dev/null --timeout 0.01"
        let ending = try await place.shell("$F \(command)").ended()
        #expect(ending.status == 75, "\(ending)")
    }

    @Test(arguments: [
        "$F receive $D/-p --count=1 --output=$D/out --json",
        "$F receive --count 1 --json --output $D/out $D/-p",
        "cd $D; $F receive --count=1 --output out --json -- -p",
        // The last one counts.
        "$F receive $D/-p --count 7 --output $D/in --json --count=1 --output $D/out --json",
    ])
    func `values follow a space or an equals sign, and arguments after two dashes are not options`(
        command: String
    ) async throws {
        let receiver = try place.shell(command)
        try await receiver.lines(1)
        let sending = try place.shell("cd $D; $F send --wait=30 --passthrough -- -p $X/jpeg/chelsea-420.jpg")
        #expect(await sending.ended().status == 0)
        #expect(await receiver.ended().status == 0)
        #expect(try place.names(in: "out") == ["frame-000000.jpg"])
    }
}
