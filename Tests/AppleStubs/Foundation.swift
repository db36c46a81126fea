// What FrameSocketApple uses of Foundation; see README.md.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverUseImplicitlyUnwrappedOptionals

@_exported import CoreFoundation
@_exported import Dispatch

public struct Selector: Hashable, Sendable {
    let name: String
    init(_ name: String) { self.name = name }
}

public func NSSelectorFromString(_ aSelectorName: String) -> Selector { Selector(aSelectorName) }

public protocol NSObjectProtocol: AnyObject {}

open class NSObject: NSObjectProtocol {
    public init() {}

    /// Notes the message in place of sending it, since Linux has no Objective-C.
    @discardableResult
    open func perform(_ aSelector: Selector!, with object: Any!) -> Unmanaged<AnyObject>! {
        standInMessages.append(aSelector.name)
        return nil
    }

    open var description: String { "" }

    public final var standInMessages: [String] = []
}

/// What tests read of an `NSError`, which the compiler takes for one that it can bridge.
public protocol StandInError: Error {
    var code: Int { get }
    var userInfo: [String: Any] { get }
}

/// Immutable, as the original; what its dictionary holds is the creator's affair.
open class NSError: NSObject, StandInError, @unchecked Sendable {
    public let domain: String
    public let code: Int
    public let userInfo: [String: Any]
    public init(domain: String, code: Int, userInfo: [String: Any]? = nil) {
        (self.domain, self.code, self.userInfo) = (domain, code, userInfo ?? [:])
    }
}

public let NSLocalizedDescriptionKey = "NSLocalizedDescription"
public let NSLocalizedFailureReasonErrorKey = "NSLocalizedFailureReason"

open class NSString: NSObject {
    private let text: String
    public init(string: String) { text = string }
    public func isEqual(to other: String) -> Bool { text == other }
    open override var description: String { text }
}

open class NSNumber: NSObject {
    public let uint32Value: UInt32
    public init(value: UInt32) { uint32Value = value }
    public init(value: Int) { uint32Value = UInt32(value) }
    open var stringValue: String { "\(uint32Value)" }
}

open class NSDictionary: NSObject, ExpressibleByDictionaryLiteral, StandInDictionary {
    private let entries: [(Any, Any)]
    public override init() { entries = [] }
    public required init(dictionaryLiteral elements: (Any, Any)...) { entries = elements }
    public func standInNumber(_ key: CFString) -> Int? {
        let value = entries.first { $0.0 as? String == key }?.1
        return (value as? NSNumber).map { Int($0.uint32Value) }
    }
}

open class Bundle: NSObject {
    private let path: String
    public static var main: Bundle { Bundle(at: "") }
    /// What the Info.plist says.
    nonisolated(unsafe) public static var standInInfo: [String: Any] = [:]
    /// What the Info.plists of other bundles say, by the paths of the bundles.
    nonisolated(unsafe) public static var standInBundles: [String: [String: Any]] = [:]
    private init(at path: String) { self.path = path }
    public convenience init?(path: String) {
        guard Self.standInBundles[path] != nil else { return nil }
        self.init(at: path)
    }
    open var infoDictionary: [String: Any]? { path.isEmpty ? Self.standInInfo : Self.standInBundles[path] }
    open var builtInPlugInsPath: String? { "/App.app/PlugIns" }
    open func object(forInfoDictionaryKey key: String) -> Any? { infoDictionary?[key] }
    /// What `Localizable.strings` holds.
    nonisolated(unsafe) public static var standInStrings: [String: String] = [:]
    open func localizedString(forKey key: String, value: String?, table tableName: String?) -> String {
        Self.standInStrings[key] ?? value ?? key
    }
}

open class FileManager: NSObject {
    public static var `default`: FileManager { FileManager() }
    /// Where the containers are of the groups that this process is entitled to.
    nonisolated(unsafe) public static var standInContainers: [String: String] = [:]
    open func contentsOfDirectory(atPath path: String) throws -> [String] {
        Bundle.standInBundles.keys.filter { $0.hasPrefix(path + "/") }.map { String($0.dropFirst(path.utf8.count + 1)) }
    }
    open func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
        Self.standInContainers[groupIdentifier].map { URL(path: $0) }
    }
}

public struct URL: Hashable, Sendable {
    public let path: String
    init(path: String) { self.path = path }
    public func appendingPathComponent(_ pathComponent: String) -> URL { URL(path: path + "/" + pathComponent) }
}
