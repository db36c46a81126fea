// What the broadcasts over the stubs need.

import CoreMedia
import CoreVideo
import Synchronization

/// A number that several threads count.
final class Count: Sendable {
    let value = Atomic(0)
    var now: Int { value.load(ordering: .acquiring) }
}

nonisolated(unsafe) var failures = 0

func expect(_ isSo: Bool, _ what: String, file: String = #filePath, line: Int = #line) {
    guard !isSo else { return }
    print("\(file):\(line): \(what)")
    failures += 1
}

/// Waits until something comes true; half a minute at most.
func eventually(_ what: String, file: String = #filePath, line: Int = #line, _ condition: () -> Bool) async {
    let deadline = ContinuousClock.now + .seconds(30)
    while !condition() {
        guard ContinuousClock.now < deadline else { return expect(false, what, file: file, line: line) }
        try? await Task.sleep(for: .milliseconds(1))
    }
}

func time(_ milliseconds: Int64, flags: CMTimeFlags = .valid) -> CMTime {
    CMTime(value: milliseconds, timescale: 1_000, flags: flags, epoch: 0)
}

/// An image of planes that are all of one value each, with rows that are longer than they need to be.
func buffer(_ format: OSType, _ values: [[UInt8]], width: Int = 64, height: Int = 48) -> CVBuffer {
    let planes = values.enumerated().map { index, sample in
        let samples = (index == 0 ? width : width / 2) + 32
        let rows = index == 0 ? height : height / 2
        let row = Array(repeating: sample, count: samples).flatMap(\.self)
        return (Array(repeating: row, count: rows).flatMap(\.self), row.count)
    }
    return CVBuffer(standIn: format, width: width, height: height, planes: planes)
}
