// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit) && canImport(UIKit)
    public import ReplayKit
    public import UIKit

    /// The system's picker that starts a broadcast, with a button of the app's own.
    ///
    /// ```swift
    /// import UIKit
    ///
    /// @MainActor func addPicker(to view: UIView, startedBy button: UIButton) {
    ///     let picker = BroadcastPicker()
    ///     view.addSubview(picker.view)
    ///     picker.attach(to: button)
    /// }
    /// ```
    ///
    /// Only the person can start a broadcast: the system asks in its own sheet, whichever button was tapped.
    @MainActor public final class BroadcastPicker {
        /// The system's view, which must be in a window; it may be covered, or hidden behind other views.
        ///
        /// It offers only the app's extension, and no button for the microphone.
        public let view: RPSystemBroadcastPickerView

        /// Creates a picker.
        ///
        /// - Parameter identifier: The extension's bundle identifier; by default the one named in the app's Info.plist, see
        ///   `extensionIdentifier`. Nil to offer every extension.
        public init(extension identifier: String? = AppGroup.extensionIdentifier) {
            view = RPSystemBroadcastPickerView(frame: .zero)
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

        /// Shows the system's sheet whenever the app's button is tapped.
        ///
        /// The button retains the picker.
        public func attach(to button: UIControl) {
            button.addAction(UIAction { _ in self.start() }, for: .touchUpInside)
        }

        private static func button(in view: UIView) -> UIButton? {
            for subview in view.subviews {
                if let button = subview as? UIButton ?? button(in: subview) { return button }
            }
            return nil
        }
    }
#endif
