// What the sources use of Dispatch on Apple's systems; see README.md.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public struct DispatchQoS: Equatable, Sendable {
    private let name: String
    public static let userInitiated = DispatchQoS(name: "userInitiated")
    public static let unspecified = DispatchQoS(name: "unspecified")

    public enum QoSClass: Sendable { case userInitiated, `default` }
}

open class DispatchQueue: @unchecked Sendable {
    public init(label: String, qos: DispatchQoS = .unspecified, target: DispatchQueue? = nil) {}
    public class func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue { DispatchQueue(label: "") }
    public func async(execute work: @escaping @Sendable @convention(block) () -> Void) {}
    public func asyncAfter(deadline: DispatchTime, execute work: @escaping @Sendable @convention(block) () -> Void) {}
    public class func concurrentPerform(iterations: Int, execute work: (Int) -> Void) {}
}

public struct DispatchTime: Sendable {
    public static func now() -> DispatchTime { DispatchTime() }
    public static func + (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime { time }
}

public enum DispatchTimeInterval: Sendable {
    case milliseconds(Int)
}

public class DispatchSemaphore: @unchecked Sendable {
    public init(value: Int) {}
    public func wait() {}
    @discardableResult
    public func signal() -> Int { 0 }
}
