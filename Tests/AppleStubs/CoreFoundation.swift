// What FrameSocketApple uses of CoreFoundation; see README.md.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverUseImplicitlyUnwrappedOptionals

import Synchronization

public typealias CFString = String
public typealias CFTypeRef = AnyObject
public typealias CFAllocator = AnyObject
public typealias CFDictionary = AnyObject
public typealias OSType = UInt32
public typealias OSStatus = Int32
public let noErr: OSStatus = 0

/// What the other stubs ask of a dictionary.
public protocol StandInDictionary: AnyObject {
    func standInNumber(_ key: CFString) -> Int?
}

public final class CFNotificationCenter {}

public struct CFNotificationName: Hashable, Sendable, RawRepresentable {
    public var rawValue: CFString
    public init(rawValue: CFString) { self.rawValue = rawValue }
    public init(_ rawValue: CFString) { self.rawValue = rawValue }
}

public enum CFNotificationSuspensionBehavior: Int, Sendable {
    case drop = 1
    case coalesce, hold, deliverImmediately
}

public typealias CFNotificationCallback =
    @Sendable (
        CFNotificationCenter?, UnsafeMutableRawPointer?, CFNotificationName?, UnsafeRawPointer?, CFDictionary?
    ) -> Void

/// Who listens, over all threads.
private let observers = Mutex<[CFString: [CFNotificationCallback]]>([:])

public func CFNotificationCenterGetDarwinNotifyCenter() -> CFNotificationCenter! { nil }

/// Calls who listens at once; the original does so later, on the main thread.
public func CFNotificationCenterPostNotification(
    _ center: CFNotificationCenter!,
    _ name: CFNotificationName!,
    _ object: UnsafeRawPointer!,
    _ userInfo: CFDictionary!,
    _ deliverImmediately: Bool
) {
    let callbacks = observers.withLock { $0[name.rawValue] ?? [] }
    for callback in callbacks { callback(center, nil, name, object, userInfo) }
}

public func CFNotificationCenterAddObserver(
    _ center: CFNotificationCenter!,
    _ observer: UnsafeRawPointer!,
    _ callBack: CFNotificationCallback!,
    _ name: CFString!,
    _ object: UnsafeRawPointer!,
    _ suspensionBehavior: CFNotificationSuspensionBehavior
) {
    observers.withLock { $0[name, default: []].append(callBack) }
}
