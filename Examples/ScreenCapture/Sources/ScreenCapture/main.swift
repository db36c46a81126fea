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
    let connection = SocketConnection(path: options.socket)
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
    print("\(uploader.statistics.sent) images sent" + (end.map { "; \($0)" } ?? ""))
    if let error = end?.error { throw error }
    if case .failure(let error) = result, !(error is CancellationError) { throw error }
} catch {
    let failure = error as? Failure ?? .unavailable("\(error)")
    FileHandle.standardError.write(Data("ScreenCapture: \(failure.message)\n".utf8))
    exit(failure.exitCode)
}
