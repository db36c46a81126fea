import Foundation
import FrameWire
import Testing

@testable import FrameSocket

/// A case of Tests/Uploader/cases.txt, which says how one is written.
struct UploaderCase {
    let name: String
    private let words: [Substring]

    /// What is not a word of the table.
    private struct Unknown: Error {
        let word: Substring
        init(_ word: some StringProtocol) { self.word = Substring(word) }
    }

    /// Every case of the table.
    static func all() throws -> [UploaderCase] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let table = tests.deletingLastPathComponent().appending(path: "Uploader/cases.txt")
        let lines = try String(contentsOf: table, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }
        return lines.reduce(into: [UploaderCase]()) { cases, line in
            guard line.hasPrefix(" "), let last = cases.popLast() else {
                return cases.append(UploaderCase(name: String(line), words: []))
            }
            cases.append(UploaderCase(name: last.name, words: last.words + line.split(separator: " ")))
        }
    }

    /// What is wrong; nil if the uploader does what the case says.
    var complaint: String? {
        do throws(Unknown) {
            let parts = words.split(separator: "->")
            guard parts.count == 2 else { throw Unknown(name) }
            var steps = parts[0]
            var configuration = SampleUploader.Configuration()
            if let first = steps.first, first.hasPrefix("(") {
                configuration = try Self.configuration(first.dropFirst().dropLast())
                steps = steps.dropFirst()
            }
            var rig = UploaderRig(configuration)
            for step in steps { rig.run(try Self.step(step)) }
            let results = parts[1].split(separator: "|")
            var sends: [UInt8] = []
            for word in results.first ?? [] { sends += try Self.numbers(word) }
            let counts = Set((results.count > 1 ? results[1] : []).map(String.init))
            var found = Self.counts(of: rig, finishing: steps.contains { $0.hasPrefix("finish:") })
            if counts.contains(where: { $0.hasPrefix("numbers=") }) {
                let numbers = rig.messages.map { $0.sequence.map(String.init) ?? "none" }
                found.insert("numbers=\(numbers.joined(separator: ","))")
            }
            guard rig.submitted == sends, found == counts else {
                return "\(name): \(rig.submitted) | \(found.sorted().joined(separator: " "))"
            }
            return nil
        } catch {
            return "\(name): \(error.word)?"
        }
    }

    private static func counts(of rig: UploaderRig, finishing: Bool) -> Set<String> {
        let statistics = rig.machine.statistics
        var counts = Set(statistics.drops.map { "\($0.key.rawValue)=\($0.value)" })
        if statistics.repeats > 0 { counts.insert("repeats=\(statistics.repeats)") }
        guard finishing else { return counts }
        if rig.machine.waiterCount == 0 { counts.insert("finished=\(rig.finished.count)") }
        if let cause = rig.machine.causeOfLoss(upTo: .max) { counts.insert("lost=\(cause.rawValue)") }
        return counts
    }

    /// The number that a word stands for, as often as it says.
    private static func numbers(_ word: Substring) throws(Unknown) -> [UInt8] {
        if word == "nothing" { return [] }
        let parts = word.split(separator: "x")
        guard let number = parts.first.flatMap({ UInt8($0) }) else { throw Unknown(word) }
        return [UInt8](repeating: number, count: parts.count > 1 ? Int(parts[1]) ?? 0 : 1)
    }

    private static func settings(_ text: Substring) -> [(name: String, value: String)] {
        text.split(separator: ",").map { setting in
            let parts = setting.split(separator: "=", maxSplits: 1).map(String.init)
            return (parts[0], parts.count > 1 ? parts[1] : "")
        }
    }

    private static func configuration(_ text: Substring) throws(Unknown) -> SampleUploader.Configuration {
        var configuration = SampleUploader.Configuration()
        for (name, value) in settings(text) {
            let numbers = value.split(separator: "/").compactMap { Double($0) }
            let first = numbers.first ?? 0
            switch name {
            case "every": configuration.pacing = .every(Int(first))
            case "fps": configuration.pacing = .framesPerSecond(first)
            case "adaptive": configuration.pacing = .adaptive(still: first, motion: numbers.last ?? 0)
            case "unchanged":
                let keepAlive: Duration? = value.isEmpty ? nil : .seconds(first)
                configuration.pacing = configuration.pacing.skippingUnchanged(keepAlive: keepAlive)
            case "quality": configuration.quality = Int(first)
            case "bytes":
                configuration.adaptation = SampleUploader.Configuration.Adaptation(maximumByteRate: Int(first))
            default: throw Unknown(text)
            }
        }
        return configuration
    }

    private static func step(_ word: Substring) throws(Unknown) -> UploaderRig.Step {
        let parts = word.split(separator: ":", maxSplits: 1)
        let argument = parts.count > 1 ? parts[1] : ""
        switch parts[0] {
        case "connect": return .connect
        case "disconnect": return .disconnect
        case "close": return .close
        case "pause": return .pause
        case "resume": return .resume
        case "wanted": return .hello(wantsFrames: true)
        case "unwanted": return .hello(wantsFrames: false)
        case "refresh": return .refresh
        case "request": return .request
        case "prefer":
            var preferences = ControlRequest.Preferences()
            for (name, value) in settings(argument) {
                switch name {
                case "quality": preferences.quality = Int(value)
                case "rate": preferences.frameRateInMillihertz = Int(value)
                default: throw Unknown(word)
                }
            }
            return .prefer(preferences)
        case "set": return .update(try configuration(argument))
        case "encoder-", "encoder+": return .encoding(word.hasSuffix("+"))
        case "begin": return .encodingBegins
        case "fail": return .encodingFails
        case "sender-", "sender+": return .sending(word.hasSuffix("+"))
        case "lost":
            guard let cause = SampleUploader.DropCause(rawValue: String(argument)) else { throw Unknown(word) }
            return .sendingFails(cause)
        case "finish":
            guard let caller = UInt64(argument) else { throw Unknown(word) }
            return .finish(caller)
        default:
            if word.hasPrefix("+"), let milliseconds = UInt64(word.dropFirst()) { return .wait(milliseconds) }
            let (frame, bytes) = (word.prefix { $0 != "*" }, word.drop { $0 != "*" }.dropFirst())
            let numbers = frame.split(separator: "=").compactMap { UInt8($0) }
            guard let number = numbers.first else { throw Unknown(word) }
            return .offer(number, shows: numbers.count > 1 ? numbers[1] : nil, bytes: Int(bytes) ?? 100)
        }
    }
}
