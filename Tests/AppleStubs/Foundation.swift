// What FrameSocketApple uses of Foundation; see README.md.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverUseImplicitlyUnwrappedOptionals

@_exported import CoreFoundation

open class NSObject {
    public init() {}
}

open class NSNumber: NSObject {
    open var uint32Value: UInt32 { 0 }
}

open class Bundle: NSObject {
    public static var main: Bundle { Bundle() }
    open func object(forInfoDictionaryKey key: String) -> Any? { nil }
}

open class FileManager: NSObject {
    public static var `default`: FileManager { FileManager() }
    open func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { nil }
}

public struct URL: Hashable, Sendable {
    public var path: String { "" }
    public func appendingPathComponent(_ pathComponent: String) -> URL { self }
}

public protocol LocalizedError: Error {
    var errorDescription: String? { get }
}

public protocol CustomNSError: Error {
    static var errorDomain: String { get }
    var errorCode: Int { get }
}
