// What FrameSocketApple uses of UIKit; see README.md.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverUseImplicitlyUnwrappedOptionals

@_exported import Foundation

public struct CGRect: Hashable, Sendable {
    public static let zero = CGRect()
}

@MainActor open class UIResponder: NSObject {}

@MainActor open class UIView: UIResponder {
    open private(set) var subviews: [UIView] = []
    public init(frame: CGRect) {}
    open func addSubview(_ view: UIView) { subviews.append(view) }
}

@MainActor open class UIAction: NSObject {
    let handler: (UIAction) -> Void
    public init(title: String = "", handler: @escaping (UIAction) -> Void) { self.handler = handler }
}

@MainActor open class UIControl: UIView {
    public struct Event: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let touchUpInside = Event(rawValue: 1 << 6)
    }

    private var actions: [UIAction] = []
    /// How often the control was told to act.
    public final var standInTaps = 0

    open func addAction(_ action: UIAction, for controlEvents: Event) { actions.append(action) }
    open func sendActions(for controlEvents: Event) {
        standInTaps += 1
        for action in actions { action.handler(action) }
    }
}

@MainActor open class UIButton: UIControl {}
