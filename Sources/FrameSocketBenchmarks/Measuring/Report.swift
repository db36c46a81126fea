#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Prints the results, as a table for people or as JSON, one object per line.
struct Report {
    let isJSON: Bool
    /// The notes that have been shown: cases repeat them.
    private var notes: Set<String> = []

    init(isJSON: Bool) {
        self.isJSON = isJSON
    }

    /// Describes the machine, so that a table can be quoted.
    func begin(_ host: Host) {
        guard !isJSON else {
            return print(
                """
                {"processors":\(host.processors),"system":"\(host.system)","swift":"\(host.swift)",\
                "turbojpeg":"\(host.turbojpeg)"}
                """
            )
        }
        print("\(host.processors) processors, \(host.system), Swift \(host.swift), libjpeg-turbo \(host.turbojpeg)\n")
        print(line("case", "", "baseline", "ours", "ratio"))
    }

    mutating func show(_ measurement: Measurement) {
        for note in measurement.notes where notes.insert(note).inserted {
            print(isJSON ? "{\"note\":\"\(note)\"}" : note)
        }
        for row in measurement.rows { print(isJSON ? json(row) : line(row)) }
        // Rows are shown as they are measured, even through a pipe.
        fflush(nil)
    }

    private func line(_ row: Measurement.Row) -> String {
        line(
            row.name,
            row.metric.rawValue,
            row.baseline.map { quantity($0, row.metric.unit) } ?? "-",
            row.ours.map { quantity($0, row.metric.unit) } ?? "-",
            row.ratio.map { decimal($0, digits: 2) } ?? "-"
        )
    }

    private func line(_ name: String, _ metric: String, _ cells: String...) -> String {
        let padded = cells.map { String(repeating: " ", count: max(1, 12 - $0.count)) + $0 }
        return column(name, 42) + column(metric, 15) + padded.joined()
    }

    private func column(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private func json(_ row: Measurement.Row) -> String {
        """
        {"name":"\(row.name)","metric":"\(row.metric.rawValue)","unit":"\(row.metric.unit.rawValue)",\
        "baseline":\(row.baseline.map { decimal($0, digits: 3) } ?? "null"),\
        "ours":\(row.ours.map { decimal($0, digits: 3) } ?? "null"),\
        "ratio":\(row.ratio.map { decimal($0, digits: 3) } ?? "null")}
        """
    }

    private func quantity(_ value: Double, _ unit: Metric.Unit) -> String {
        switch unit {
        case .number: decimal(value, digits: 2)
        case .nanoseconds: scaled(value, by: 1000, ["ns", "us", "ms", "s"])
        case .bytes: scaled(value, by: 1024, ["B", "KiB", "MiB", "GiB"])
        }
    }

    private func scaled(_ value: Double, by step: Double, _ units: [String]) -> String {
        var (value, index) = (value, 0)
        while abs(value) >= step, index < units.count - 1 { (value, index) = (value / step, index + 1) }
        return decimal(value, digits: index == 0 ? 1 : 2) + " " + units[index]
    }

    private func decimal(_ value: Double, digits: Int) -> String {
        let scale = [1.0, 10, 100, 1000][digits]
        let rounded = Int((abs(value) * scale).rounded())
        let fraction = String(rounded % Int(scale))
        let sign = value < 0 && rounded > 0 ? "-" : ""
        return "\(sign)\(rounded / Int(scale))."
            + String(repeating: "0", count: digits - fraction.count) + fraction
    }
}
