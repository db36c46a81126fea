import Foundation
import FrameSocket

// ScreenCapture SOCKET [OPTION]...: shares an X11 screen, a monitor or a window.
let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.contains("--help") {
    print(Options.usage)
    exit(0)
}
do {
    let options = try Options(arguments)
    let screen = try Screen(try Display(options.display), options.source, drawsPointer: options.drawsCursor)
    var reaching = SocketConnection.Configuration()
    reaching.log = { event in
        guard event.code.rawValue == "attempt.failed" else { return }
        report("waiting for a receiver at \(event.endpoint): \(event.message)")
    }
    let connection = SocketConnection(path: options.socket, configuration: reaching)
    let uploader = SampleUploader(
        connection: connection,
        configuration: .init(quality: options.quality, pacing: .framesPerSecond(options.rate), sharesMemory: true)
    )
    let sharing = Task { try await share(screen, with: uploader) }

    // It ends if the receiver ends the connection for good, or with a signal.
    let watching = Task {
        for await case .ended in connection.states { sharing.cancel() }
    }
    let signals = [SIGINT, SIGTERM].map { number in
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number)
        source.setEventHandler { sharing.cancel() }
        source.resume()
        return source
    }
    let result = await sharing.result
    watching.cancel()
    signals.forEach { $0.cancel() }

    let end: CloseReason? = if case .ended(let reason) = connection.state { reason } else { nil }
    connection.close()
    let sent = uploader.statistics.sent
    print("\(sent) image\(sent == 1 ? "" : "s") sent" + (end.map { "; \($0)" } ?? ""))
    if let error = end?.error { throw error }
    if case .failure(let error) = result, !(error is CancellationError) { throw error }
} catch {
    let failure = error as? Failure ?? .unavailable("\(error)")
    report("ScreenCapture: \(failure.message)")
    exit(failure.exitCode)
}

func report(_ line: String) { FileHandle.standardError.write(Data("\(line)\n".utf8)) }
