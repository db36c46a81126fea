import Foundation
import TestSupport
import Testing

/// Another process: started with what it needs and nothing else, read while it runs.
///
/// Foundation's `Process` neither resets signals nor keeps descriptors that other tests open at the same time from the
/// child, so that the end of a stream might not be seen.
final class Program: Sendable {
    /// What the process reads from standard input.
    enum Input {
        case nothing
        case file(String)
        /// A pipe to which nobody writes, and which does not end.
        case silence
        /// What the test writes, at any time.
        case pipe(InputPipe)
    }

    /// What the process reads; a pipe ends with it at the latest.
    let input: Input
    private let process: pid_t
    private let name: String
    private let silence: Int32?
    private let transcript: Transcript

    /// Starts the program at the path `executable`.
    init(_ executable: String, _ arguments: [String], input: Input = .nothing) throws {
        let output = try PipeEnds()
        let errors = try PipeEnds()
        var inputPipe: PipeEnds?
        defer {
            close(output.writeEnd)
            close(errors.writeEnd)
            if let inputPipe { close(inputPipe.readEnd) }
        }
        let standardInput: Int32
        switch input {
        case .nothing: standardInput = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        case .file(let path): standardInput = unsafe open(path, O_RDONLY | O_CLOEXEC)
        case .silence:
            let pipe = try PipeEnds()
            inputPipe = pipe
            standardInput = pipe.readEnd
        case .pipe(let pipe): standardInput = pipe.readEnd
        }
        guard standardInput >= 0 else { throw SystemFailure(call: "open", error: errno) }
        defer { if inputPipe == nil { close(standardInput) } }
        self.input = input
        name = ([executable] + arguments).joined(separator: " ")
        process = try spawn(executable, arguments, [standardInput, output.writeEnd, errors.writeEnd])
        silence = inputPipe?.writeEnd
        transcript = Transcript(process, output: output.readEnd, errors: errors.readEnd)
    }

    deinit {
        if let silence { close(silence) }
    }

    /// The process's number.
    var id: Int { Int(process) }

    /// Waits until the process has printed `count` lines, each of which may take as long as patience lasts, and gives all that
    /// are there.
    @discardableResult
    func lines(_ count: Int) async throws -> [String] {
        var (state, known) = (transcript.now, 0)
        repeat {
            known = state.output.completeLines.count
            state = await transcript.state { [known] in $0.output.completeLines.count >= min(known + 1, count) }
        } while state.status == nil && state.output.completeLines.count < count
        try require(state.output.completeLines.count >= count, "\(count) lines", state)
        return state.output.completeLines
    }

    /// Waits until a whole line on standard output contains `words`.
    func printed(_ words: String) async throws {
        let state = await transcript.state { $0.output.completeLines.contains { $0.contains(words) } }
        try require(state.output.completeLines.contains { $0.contains(words) }, "\"\(words)\"", state)
    }

    /// Whether these words are on standard output by now.
    func hasPrinted(_ words: String) -> Bool {
        String(decoding: transcript.now.output, as: UTF8.self).contains(words)
    }

    /// Whether the process has ended by now.
    var hasEnded: Bool { transcript.now.status != nil }

    /// Waits until the process has told a person `words`, on standard error.
    func told(_ words: String) async throws {
        let state = await transcript.state { $0.text.contains(words) }
        try require(state.text.contains(words), "\"\(words)\"", state)
    }

    #if os(Linux)
        /// The most memory of its own that the process has had so far, in bytes.
        ///
        /// Pages of the program's file do not count: the system can drop them at any time, and of a debug build they are many.
        func peakMemory() throws -> Int {
            try 1024 * (kilobytes("VmHWM") - kilobytes("RssFile"))
        }

        /// Whether a thread of the process waits for room in its standard output: in `write`, or in `poll` if that must not
        /// block.
        var isBlockedInOutput: Bool {
            #if arch(x86_64)
                let (write, poll) = (1, 7)
            #else
                let (write, poll) = (64, 73)
            #endif
            let folder = "/proc/\(process)/task"
            // Both the process and a thread may have ended by now.
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return threads.contains { thread in
                // The number of the call and its arguments; of a thread that runs, just that.
                let call = (try? String(contentsOfFile: "\(folder)/\(thread)/syscall", encoding: .utf8)) ?? ""
                return call.hasPrefix("\(write) 0x1 ") || call.hasPrefix("\(poll) ")
            }
        }

        /// The number of buffers of a sender that the process has mapped.
        func sharedMappings() throws -> Int {
            try TestSupport.sharedMappings(ofProcess: "\(process)")
        }

        /// How often the process's threads have gone to sleep so far.
        func sleeps() throws -> Int {
            let folder = "/proc/\(process)/task"
            return try FileManager.default.contentsOfDirectory(atPath: folder).reduce(0) { sum, thread in
                sum + (Int(try status("voluntary_ctxt_switches", of: "task/\(thread)/")) ?? 0)
            }
        }

        private func kilobytes(_ name: String) throws -> Int {
            Int(try status(name).prefix { $0.isNumber }) ?? 0
        }

        /// Sends signals one after the other, each once the process has taken the one before or has ended: of two equal
        /// ones that wait, the kernel keeps one.
        func send(inTurn signals: [Int32]) async throws {
            for signal in signals {
                transcript.send(signal)
                try #require(
                    try await becomesTrue { () throws -> Bool in
                        guard let pending = try? status("ShdPnd") else { return true }
                        return hasEnded || UInt64(pending, radix: 16) == 0
                    }
                )
            }
        }

        /// What the kernel tells of the process under that name.
        private func status(_ name: String, of thread: String = "") throws -> String {
            let path = "/proc/\(process)/\(thread)status"
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            return lines.first { $0.hasPrefix(name + ":") }?.dropFirst(name.count + 1)
                .trimmingCharacters(in: .whitespaces) ?? ""
        }
    #endif

    private func require(_ isThere: Bool, _ expectation: String, _ state: Transcript.State) throws {
        guard !isThere else { return }
        throw Failure(description: "\(name) ended without \(expectation): \(Ending(state))")
    }

    /// A signal that asks or makes a process end.
    enum Signal: CaseIterable {
        /// Ctrl-C.
        case interrupt
        case terminate
    }

    /// Sends a signal.
    func send(_ signal: Signal) {
        switch signal {
        case .interrupt: transcript.send(SIGINT)
        case .terminate: transcript.send(SIGTERM)
        }
    }

    /// Ends the process, and all that it has started.
    func kill() {
        transcript.killGroup()
    }

    /// Waits until the process has ended; one that had to be killed for that is a failure, whatever it has printed.
    func ended() async -> Ending {
        let ending = await Ending(transcript.state { _ in false })
        if ending.errors.hasSuffix(Transcript.killed) { Issue.record("\(name) did not end: \(ending)") }
        return ending
    }

    /// Waits until the process has ended, which has to be with this exit code, and after these words on standard error.
    @discardableResult
    func ended(
        _ status: Int32,
        _ words: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> Ending {
        await ended().checked(status, words, sourceLocation: sourceLocation)
    }

    /// Sends a signal, and waits until the process has ended, with this exit code if one is given.
    @discardableResult
    func ended(
        by signal: Signal,
        _ status: Int32? = nil,
        _ words: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> Ending {
        send(signal)
        let ending = await ended()
        return ending.checked(status ?? ending.status, words, sourceLocation: sourceLocation)
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }
}
