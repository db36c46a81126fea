import FrameTransport
import TestSupport

/// Runs `body` while the shared thread does nothing, so that no server looks at its path meanwhile.
func whileThreadIsHeld<Value>(_ body: () throws -> Value) async rethrows -> Value {
    let gate = Gate()
    Task(executorPreference: IOThread.shared) { gate.hold() }
    await gate.held()
    defer { gate.release() }
    return try body()
}
