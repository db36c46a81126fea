import TestDescriptions
import Testing

@testable import TurboJPEG

@Suite(.tags(.computes)) struct CoresTests {
    @Test(
        arguments: [
            ("max 100000\n", nil), ("200000 100000\n", 2), ("150000 100000\n", 2), ("1000 100000\n", 1), ("", nil),
            ("0 100000", nil), ("100000", nil), ("100000 0", nil), ("-1 100000", nil),
        ] as [(String, Int?)]
    )
    func `a quota allows whole cores, rounded up`(text: String, expected: Int?) {
        #expect(Cores.cores(inQuota: text) == expected)
    }

    @Test(
        arguments: [
            ("Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n", 2), ("Cpus_allowed:\tff,ffffffff\n", 40),
            ("Cpus_allowed:\t00000000,00000001\n", 1), ("Cpus_allowed:\t0\n", nil), ("Name:\tx\n", nil),
        ] as [(String, Int?)]
    )
    func `a mask allows as many cores as it has bits`(text: String, expected: Int?) {
        #expect(Cores.cores(inStatus: text) == expected)
    }

    @Test func `the control group is that of the unified hierarchy`() {
        #expect(Cores.unifiedGroup(in: "12:cpu:/a\n0::/user.slice/b\n") == "/user.slice/b")
        #expect(Cores.unifiedGroup(in: "12:cpu:/a\n") == nil)
    }

    /// The seams cost no more than one row in ten, and a few rows no thread of their own.
    @Test(arguments: [(1, 1), (15, 1), (16, 2), (34, 2), (68, 4), (135, 8), (270, 16)])
    func `rows of MCUs are divided among as many threads as are worth their seams`(rows: Int, threads: Int) {
        #expect(StripPlan.threads(for: rows, maximum: 64) == threads)
        #expect(StripPlan.threads(for: rows, maximum: 1) == 1)
    }
}
