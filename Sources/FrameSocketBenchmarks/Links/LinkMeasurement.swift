import Foundation
import FrameSocket

/// Screens and motion over slow links, at a constant quality and at one that follows what is possible.
///
/// Prints one row for each run, and writes a line for each frame to a file, of which `scripts/chart-links` draws the charts
/// in the documentation.
struct LinkMeasurement {
    /// A link: bits a second, as its users know it.
    private struct Link {
        let megabits: Double
        var bytesPerSecond: Double { megabits * 1e6 / 8 }
    }

    private struct Contender {
        let name: String
        let configuration: SampleUploader.Configuration
        /// Bytes a second; nil for no limit.
        var budget: Double?
    }

    /// When images change, in seconds of the run.
    ///
    /// In between, the source is silent at first, and submits the same image later.
    private static let changing = [0.0..<6, 9..<13]
    private static let length = 16.0
    private static let framesPerSecond = 30.0

    private let fixtures: String
    private var lines = ["link,content,contender,time,age,bytes,quality,repeated"]

    init(fixtures: String) {
        self.fixtures = fixtures
    }

    /// Measures everything, prints the rows, and writes the frames to a file.
    static func run(fixtures: String, to path: String) async throws {
        var measurement = LinkMeasurement(fixtures: fixtures)
        print(
            column("link, content, quality", 46)
                + ["frames/s", "kB/s", "2 s: budget", "quality", "age p50", "age p95", "on link", "sharp after"]
                .map { right($0, 13) }.joined()
        )
        for megabits in [4.0, 20] {
            for content in [ImageSequence.Content.scroll, .motion] {
                let images = try ImageSequence(content, fixtures: fixtures)
                for contender in contenders(Link(megabits: megabits)) {
                    try await measurement.run(images, content, Link(megabits: megabits), contender)
                }
            }
        }
        try (measurement.lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }

    private static func contenders(_ link: Link) -> [Contender] {
        func adaptive(_ name: String, _ budget: Double?, _ preference: Preference = .detail()) -> Contender {
            let rate = budget.map { Int($0) }
            let adaptation = SampleUploader.Configuration.Adaptation(maximumByteRate: rate, preference: preference)
            return Contender(name: name, configuration: .init(adaptation: adaptation), budget: budget)
        }
        return [
            Contender(name: "constant 80", configuration: .init(pacing: .everyFrame.skippingUnchanged(keepAlive: nil))),
            adaptive("30-80, the link's rate", link.bytesPerSecond),
            adaptive("30-80, the link's rate, motion", link.bytesPerSecond, .motion),
            adaptive("30-80, half the link's rate", link.bytesPerSecond / 2),
            adaptive("30-80, what is taken", nil),
        ]
    }

    private typealias Preference = SampleUploader.Configuration.Adaptation.Preference

    private mutating func run(
        _ images: ImageSequence,
        _ content: ImageSequence.Content,
        _ link: Link,
        _ contender: Contender
    ) async throws {
        let path = SocketPath.next()
        let receiver = try SlowReceiver(at: path, bytesPerSecond: link.bytesPerSecond)
        let thread = Thread { receiver.run() }
        thread.start()
        var settings = SocketConnection.Configuration()
        settings.sendTimeout = .seconds(60)
        let connection = SocketConnection(path: path, configuration: settings)
        let uploader = SampleUploader(connection: connection, configuration: contender.configuration)
        try await connection.open(within: .seconds(10))
        let start = MonotonicClock.now()
        // The times at which the images stop changing, and which image each timestamp belongs to: they recur.
        var (stops, contents): ([UInt64], [UInt64: Int]) = ([], [:])
        var (index, wasChanging) = (0, false)
        let clock = ContinuousClock()
        let begin = clock.now
        for tick in 0..<Int(Self.length * Self.framesPerSecond) {
            let time = Double(tick) / Self.framesPerSecond
            try await clock.sleep(until: begin + .seconds(time))
            let isChanging = Self.changing.contains { $0.contains(time) }
            let timestamp = MonotonicClock.now()
            if isChanging {
                index += 1
                if wasChanging { stops[stops.count - 1] = timestamp } else { stops.append(timestamp) }
            }
            contents[timestamp] = index % images.count
            if isChanging || time > 9 { uploader.send(images[index], timestamp: timestamp) }
            wasChanging = isChanging
        }
        try await clock.sleep(until: begin + .seconds(Self.length + 1))
        receiver.end()
        connection.close()
        while !thread.isFinished { try await clock.sleep(for: .milliseconds(5)) }
        report(receiver, content, link, contender, stops, contents, start)
    }

    private mutating func report(
        _ receiver: SlowReceiver,
        _ content: ImageSequence.Content,
        _ link: Link,
        _ contender: Contender,
        _ stops: [UInt64],
        _ contents: [UInt64: Int],
        _ start: UInt64
    ) {
        let place = "\(Int(link.megabits)) Mbit/s, \(content.rawValue)"
        var (seen, ages, sizes, qualities): (Set<UInt64>, [Double], [Double], [Double]) = ([], [], [], [])
        for arrival in receiver.arrivals {
            let age = Double(arrival.time - min(arrival.timestamp, arrival.time)) / 1e6
            let isRepeated = !seen.insert(arrival.timestamp).inserted
            if !isRepeated {
                ages.append(age)
                sizes.append(Double(arrival.byteCount))
                qualities.append(Double(arrival.quality))
            }
            let time = Double(arrival.time - start) / 1e9
            lines.append(
                "\(link.megabits),\(content.rawValue),\"\(contender.name)\",\(time),\(age),\(arrival.byteCount),"
                    + "\(arrival.quality),\(isRepeated ? 1 : 0)"
            )
        }
        // From when on the last image that changed is shown at the quality that is wanted.
        let sharp = stops.map { stop -> Double? in
            let shown = receiver.arrivals.filter { $0.timestamp < stop + 2_500_000_000 }
            let isFinal = { (arrival: SlowReceiver.Arrival) in
                contents[arrival.timestamp] == contents[stop] && arrival.quality >= 79
            }
            guard let last = shown.last, isFinal(last) else { return nil }
            let first = shown.reversed().prefix(while: isFinal).last ?? last
            return Double(first.time - min(stop, first.time)) / 1e6
        }
        let seconds = Self.changing.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
        let bytes = receiver.arrivals.reduce(0) { $0 + $1.byteCount }
        let onLink = sizes.isEmpty ? 0 : sizes.reduce(0, +) / Double(sizes.count) / link.bytesPerSecond * 1e3
        let most = Self.mostBytesInTwoSeconds(receiver.reads)
        print(
            Self.column("\(place), \(contender.name)", 46)
                + [
                    Self.number(Double(ages.count) / seconds),
                    Self.number(Double(bytes) / Self.length / 1e3),
                    contender.budget.map { Self.number(Double(most) / ($0 * 2) * 100) + " %" } ?? "-",
                    Self.number(qualities.reduce(0, +) / Double(max(1, qualities.count))),
                    Self.number(Self.percentile(ages, 0.5)) + " ms",
                    Self.number(Self.percentile(ages, 0.95)) + " ms",
                    Self.number(onLink) + " ms",
                    sharp.map { $0.map { Self.number($0) } ?? "never" }.joined(separator: "/") + " ms",
                ].map { Self.right($0, 13) }.joined()
        )
        fflush(nil)
    }

    private static func mostBytesInTwoSeconds(_ reads: [(time: UInt64, byteCount: Int)]) -> Int {
        var (most, sum, first) = (0, 0, 0)
        for read in reads {
            sum += read.byteCount
            while reads[first].time + 2_000_000_000 <= read.time {
                sum -= reads[first].byteCount
                first += 1
            }
            most = max(most, sum)
        }
        return most
    }

    private static func percentile(_ values: [Double], _ part: Double) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
    }

    private static func number(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }

    private static func column(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
