/// One value for each plane of a picture, of which there are at most three, without an allocation.
///
/// `InlineArray` would do, but it needs a newer system than this package does on Apple's platforms.
struct PerPlane<Element> {
    private var first: Element
    private var second: Element
    private var third: Element

    /// Three values; those past a format's planes are never looked at.
    init(_ first: Element, _ second: Element, _ third: Element) {
        self.first = first
        self.second = second
        self.third = third
    }

    subscript(_ plane: Int) -> Element {
        get {
            switch plane {
            case 0: first
            case 1: second
            default: third
            }
        }
        set {
            switch plane {
            case 0: first = newValue
            case 1: second = newValue
            default: third = newValue
            }
        }
    }
}

extension PerPlane: Sendable where Element: Sendable {}
