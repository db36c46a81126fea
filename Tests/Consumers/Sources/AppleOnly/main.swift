import FrameSocketApple

// What FrameSocketApple has on every system.
let session = BroadcastSession(path: CommandLine.arguments[1]) { _ in }
session.pause()
print(session.isPaused ? "paused" : "not paused")
session.finish(.stoppedByUser)
