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

    /// Skips a test unless root runs it, who alone can act as another user.
    static var needsRoot: Self { .enabled(if: geteuid() == 0, "only root can act as another user") }

    /// Skips a test where this user may not create namespaces, as containers have them.
    static var needsNamespaces: Self { .enabled(if: Namespaces.areAllowed, "creating namespaces is not permitted") }
}

/// Whether this machine has addresses of IPv6, which containers may lack.
let hasVersion6: Bool = {
    #if os(Linux)
        (try? Data.bytes(at: "/proc/net/if_inet6"))?.isEmpty == false
    #else
        true
    #endif
}()

private enum Namespaces {
    static let areAllowed: Bool = {
        let command = "unshare --mount --pid --ipc --net --uts --fork --mount-proc true 2>/dev/null"
        let status = unsafe system(command)
        return geteuid() == 0 && status == 0
    }()
}
