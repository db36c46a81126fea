/// One value for each of an image's planes, of which there are at most three, without an allocation.
///
/// `InlineArray` would do, but it requires newer versions of Apple's platforms than this package does.
struct PerPlane<Element> {
    private var first: Element
    private var second: Element
    private var third: Element

    /// Creates the three values; those beyond a format's planes are never read.
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
