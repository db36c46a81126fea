// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit) && canImport(UIKit)
    public import ReplayKit
    internal import UIKit

    /// The system's picker that starts a broadcast, with a button of the app's own.
    ///
    /// ```swift
    /// import UIKit
    ///
    /// @MainActor func addPicker(to view: UIView, startedBy button: UIButton) {
    ///     let picker = BroadcastPicker()
    ///     view.addSubview(picker.view)
    ///     button.addAction(UIAction { _ in picker.start() }, for: .touchUpInside)
    /// }
    /// ```
    ///
    /// Only the person can start a broadcast: the system asks in its own sheet, whichever button was tapped.
    @MainActor public final class BroadcastPicker {
        /// The system's view, which must be in a window; it may be covered, or hidden behind other views.
        ///
        /// It offers only the app's extension, and no button for the microphone.
        public let view = RPSystemBroadcastPickerView(frame: .zero)

        /// Creates a picker.
        ///
        /// - Parameter identifier: The extension's bundle identifier; by default the one named in the app's Info.plist, see
        ///   `extensionIdentifier`. Nil to offer every extension.
        public init(extension identifier: String? = AppGroup.extensionIdentifier) {
            view.preferredExtension = identifier
            view.showsMicrophoneButton = false
        }

        /// Shows the system's sheet, as a tap on the picker's own button does.
        ///
        /// ReplayKit has no call for it: this finds the button in the view, and sends it the tap. A later system may build
        /// the view differently.
        ///
        /// - Returns: Whether a button was found; if not, show ``view`` to the person.
        @discardableResult
        public func start() -> Bool {
            guard let button = Self.button(in: view) else { return false }
            button.sendActions(for: .touchUpInside)
            return true
        }

        private static func button(in view: UIView) -> UIButton? {
            for subview in view.subviews {
                if let button = subview as? UIButton ?? button(in: subview) { return button }
            }
            return nil
        }
    }
#endif
