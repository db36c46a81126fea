import CBaseline

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Prints the results, as a table for people or as JSON, one object per line.
struct Report {
    let isJSON: Bool

    /// Describes what the results depend on: machine, system, compiler and library.
    func begin() {
        let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        var name = utsname()
        unsafe uname(&name)
        let system = [text(&name.sysname), text(&name.release), text(&name.machine)].joined(separator: " ")
        let turbojpeg = unsafe baseline_codec_version().map { unsafe String(cString: $0) } ?? "of unknown version"
        guard !isJSON else {
            return print(
                """
                {"processors":\(processors),"system":"\(system)","swift":"\(compiler)","turbojpeg":"\(turbojpeg)"}
                """
            )
        }
        print("\(processors) processors, \(system), Swift \(compiler), libjpeg-turbo \(turbojpeg)\n")
        print(line("case", "", "baseline", "ours", "ratio"))
    }

    func show(_ rows: [Benchmark.Row]) {
        for row in rows { print(isJSON ? json(row) : line(row)) }
        // Rows are shown as they are measured, even through a pipe.
        fflush(nil)
    }

    private func line(_ row: Benchmark.Row) -> String {
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
        return column(name, 34) + column(metric, 15) + padded.joined()
    }

    private func column(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private func json(_ row: Benchmark.Row) -> String {
        let (baseline, ours, ratio) = (row.baseline, row.ours, row.ratio)
        return """
            {"name":"\(row.name)","metric":"\(row.metric.rawValue)","unit":"\(row.metric.unit.rawValue)",\
            "baseline":\(baseline.map { decimal($0, digits: 3) } ?? "null"),\
            "ours":\(ours.map { decimal($0, digits: 3) } ?? "null"),\
            "ratio":\(ratio.map { decimal($0, digits: 3) } ?? "null")}
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
        let scale = [1, 10, 100, 1000][digits]
        let rounded = Int((abs(value) * Double(scale)).rounded())
        let fraction = String(rounded % scale)
        let sign = value < 0 && rounded > 0 ? "-" : ""
        return "\(sign)\(rounded / scale)." + String(repeating: "0", count: digits - fraction.count) + fraction
    }

    /// The text in a C array.
    private func text<Field>(_ field: inout Field) -> String {
        unsafe withUnsafeBytes(of: &field) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// The compiler's version, as far as it can be determined.
    private var compiler: String {
        #if compiler(>=6.4)
            "6.4 or later"
        #elseif compiler(>=6.3.1)
            "6.3.1"
        #elseif compiler(>=6.3)
            "6.3"
        #else
            "6.2"
        #endif
    }
}
