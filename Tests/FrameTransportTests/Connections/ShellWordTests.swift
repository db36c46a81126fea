#if os(Linux)
    import FrameTransport
    import TestDescriptions
    import TestSupport
    import Testing

    @Suite struct ShellWordTests {
        @Test(
            .leftOut(of: .memcheck, because: "Foundation cannot start programs under valgrind"),
            arguments: ["a", "a b", "it's", "new\nline", "\u{1B}[1m", "a\tb\\'c%s\u{7F}8", "$HOME", "\u{1}1ü\n"]
        )
        func `a word of a command is the text`(text: String) throws {
            let child = try ChildProcess("bash", ["-c", "printf %s \(text.shellWord)"])
            #expect(child.output == Array(text.utf8), "\(text.shellWord)")
        }
    }
#endif
