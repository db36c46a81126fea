// A release build makes every target, and has no Testing.
#if canImport(Testing)
    import Foundation
    public import Testing

    extension Tag {
        /// A suite that only computes: without sockets, processes and clocks.
        ///
        /// `scripts/test` runs such suites in parallel with each other, and all others one test at a time.
        @Tag public static var computes: Self
    }

    /// What a run of the tests is for, beside `make test`.
    ///
    /// The script that starts such a run names it in the environment variable `TEST_RUN`, in which commas separate several.
    package enum TestRun: String, Sendable {
        /// System calls fail, as Tests/Faults/README.md says (`scripts/check-faults`).
        case faults
        /// The tests are run so often that each has to be worth its time (`scripts/check-faults`).
        case brief
        /// A build with AddressSanitizer, or with ThreadSanitizer (`scripts/check-sanitizers`).
        case address, thread
        /// Under valgrind (`make memcheck`).
        case memcheck

        /// What this process has been started for.
        static let current: [TestRun] = (ProcessInfo.processInfo.environment["TEST_RUN"] ?? "")
            .split(separator: ",").compactMap { TestRun(rawValue: String($0)) }
    }

    extension Trait where Self == ConditionTrait {
        /// Leaves a test out of some runs, in which it is reported as skipped, with the reason.
        package static func leftOut(of runs: TestRun..., because reason: Comment) -> Self {
            .disabled(if: TestRun.current.contains(where: runs.contains), reason)
        }

        /// Leaves a test out of runs in which it shows too little for the time that it takes.
        package static func tooSlow(for runs: TestRun...) -> Self {
            .disabled(if: TestRun.current.contains(where: runs.contains), "it shows too little for the time it takes")
        }
    }
#endif
