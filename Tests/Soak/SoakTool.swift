import Foundation
import FrameSocket

/// Moves frames for a given time, with peers that connect, leave, stall and misbehave; exits with 1 if something went wrong.
@main enum SoakTool {
    static func main() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "peer" {
            guard let peer = Peer(Array(arguments.dropFirst())) else { usage() }
            await peer.run()
            exit(0)
        }
        var minutes = 2.0
        var seed = UInt64.random(in: 0...9_999_999)
        while arguments.count >= 2 {
            switch (arguments[0], Double(arguments[1])) {
            case ("--minutes", let number?) where number > 0: minutes = number
            case ("--seed", let number?) where number >= 0: seed = UInt64(number)
            default: usage()
            }
            arguments.removeFirst(2)
        }
        guard arguments.isEmpty else { usage() }
        let isSound = try await Soak(duration: .seconds(minutes * 60), seed: seed).run()
        exit(isSound ? 0 : 1)
    }

    private static func usage() -> Never {
        say("usage: FrameSocketSoak [--minutes N] [--seed S]")
        exit(64)
    }
}

/// Prints a line at once, also where standard output is a file.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
