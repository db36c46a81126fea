import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// Skips a test where a program of the system is missing, which `make test` installs where it can.
    ///
    /// In CI nothing is skipped: there the test fails for want of the program.
    static func needs(_ tools: String...) -> Self {
        let missing = tools.filter { (try? Places.tool($0)) == nil }
        let isCI = ProcessInfo.processInfo.environment["CI"] != nil
        return .enabled(
            if: missing.isEmpty || isCI,
            "\(missing.joined(separator: ", ")) not installed; scripts/setup test installs it on Debian"
        )
    }
}
