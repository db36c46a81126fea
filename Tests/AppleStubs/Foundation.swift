// What FrameSocketApple uses of Foundation; see README.md.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverUseImplicitlyUnwrappedOptionals

@_exported import CoreFoundation

open class NSObject {
    public init() {}
}

public final class NSString {
    private let text: String
    public init(string: String) { text = string }
    public func isEqual(to other: String) -> Bool { text == other }
}

open class NSNumber: NSObject {
    public let uint32Value: UInt32
    public init(value: UInt32) { uint32Value = value }
    public init(value: Int) { uint32Value = UInt32(value) }
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
    public func appendingPathComponent(_ pathComponent: String) -> URL { URL(path: path + "/" + pathComponent) }
}

public protocol LocalizedError: Error {
    var errorDescription: String? { get }
}

public protocol CustomNSError: Error {
    static var errorDomain: String { get }
    var errorCode: Int { get }
}
