import CXCB
import Foundation
import FrameSocket

/// What is shared of a display, and what has changed of it.
///
/// The X server keeps the damage until it is asked for, and says only once that there is some. So a screen that does not
/// change costs nothing, and one that changes all the time costs an event for every image.
final class Screen {
    /// An image, and where it may differ from the one before.
    struct Capture {
        let image: PixelBuffer
        let damage: [PixelBuffer.Rectangle]
    }

    private let display: Display
    private let source: Options.Source
    let drawsPointer: Bool
    private let (damageID, regionID): (xcb_damage_damage_t, xcb_xfixes_region_t)

    /// Where the image is.
    private struct Place {
        /// In pixels of the root window.
        let area: PixelBuffer.Rectangle
        /// From the image's corner to that of the drawable whose pixels are read.
        let offset: (x: Int, y: Int)
        /// The part of the image that is on the screen: no other pixels of a window can be read.
        let visible: PixelBuffer.Rectangle

        /// All of the image, in its own pixels.
        var whole: PixelBuffer.Rectangle { area.moved(x: -area.x, y: -area.y) }
    }

    /// Nil if the server has to be asked, since what is shared may have moved, or become visible.
    private var place: Place?
    private var pointer: Pointer?
    /// Whether there may be something to capture.
    var hasChanged = true

    /// Nil until the first image.
    private var images: Images?
    /// The rows that have changed since the last image that was captured.
    private var damage = RangeSet<Int>()

    init(_ display: Display, _ source: Options.Source, drawsPointer: Bool) throws {
        (self.display, self.source, self.drawsPointer) = (display, source, drawsPointer)
        (damageID, regionID) = (display.makeID(), display.makeID())
        // Only to say at once if there is no such thing.
        _ = try locate()
        let connection = display.connection
        xcb_damage_create(connection, damageID, drawable, UInt8(XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY.rawValue))
        xcb_xfixes_create_region(connection, regionID, 0, nil)
        xcb_randr_select_input(
            connection,
            display.root,
            UInt16(XCB_RANDR_NOTIFY_MASK_SCREEN_CHANGE.rawValue | XCB_RANDR_NOTIFY_MASK_CRTC_CHANGE.rawValue)
        )
        if case .window(let window) = source {
            var mask = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue | XCB_EVENT_MASK_VISIBILITY_CHANGE.rawValue
            xcb_change_window_attributes(connection, window, XCB_CW_EVENT_MASK.rawValue, &mask)
        }
        if drawsPointer { watchPointer() }
    }

    private var drawable: xcb_drawable_t { if case .window(let window) = source { window } else { display.root } }

    /// Asks for changes of the pointer's image, and for its moves, which the server reports to no window but the one below.
    private func watchPointer() {
        xcb_xfixes_select_cursor_input(
            display.connection,
            display.root,
            XCB_XFIXES_CURSOR_NOTIFY_MASK_DISPLAY_CURSOR.rawValue
        )
        guard display.reportsMotion else { return }
        var mask = (
            xcb_input_event_mask_t(deviceid: UInt16(XCB_INPUT_DEVICE_ALL_MASTER.rawValue), mask_len: 1),
            XCB_INPUT_XI_EVENT_MASK_RAW_MOTION.rawValue
        )
        // A pointer to the first part alone would not make the second one follow it in memory.
        withUnsafeBytes(of: &mask) { mask in
            let masks = mask.assumingMemoryBound(to: xcb_input_event_mask_t.self).baseAddress
            _ = xcb_input_xi_select_events(display.connection, display.root, 1, masks)
        }
    }

    private var closed: Failure { .noInput("the window \(hexadecimal(drawable)) was closed") }

    /// Asks where the source is.
    ///
    /// - Throws: If it does not exist.
    private func locate() throws(Failure) -> Place {
        let root = try display.rectangle(of: display.root)
        guard let root else { throw display.lost }
        switch source {
        case .screen:
            return Place(area: root, offset: (0, 0), visible: root)
        case .monitor(let name):
            let monitors = display.monitors()
            guard let monitor = monitors[name] else {
                let names = monitors.keys.sorted().map { "'\($0)'" }.joined(separator: ", ")
                throw .noInput("no monitor '\(name)' on the display '\(display.name)', which has \(names)")
            }
            let area = monitor.intersection(root)
            return Place(area: area, offset: (area.x, area.y), visible: area.moved(x: -area.x, y: -area.y))
        case .window(let window):
            guard let area = try display.rectangle(of: window) else {
                if images != nil { throw closed }
                throw .noInput("no window \(hexadecimal(window)) on the display '\(display.name)'; xwininfo prints IDs")
            }
            let visible = area.intersection(root).moved(x: -area.x, y: -area.y)
            return Place(area: area, offset: (0, 0), visible: visible)
        }
    }

    // MARK: Events

    /// The descriptor that becomes readable if something has happened on the display.
    var descriptor: Int32 { display.descriptor }

    /// Reads what the server has reported.
    ///
    /// - Throws: If the display is lost, or a window that is shared was closed.
    func readEvents() throws(Failure) {
        let (damage, fixes, randr) = display.firstEvents
        while let event = try display.nextEvent() {
            defer { free(event) }
            switch Int32(event.pointee.response_type & 0x7f) {
            case damage + XCB_DAMAGE_NOTIFY, fixes + XCB_XFIXES_CURSOR_NOTIFY, XCB_GE_GENERIC:
                break
            case randr + XCB_RANDR_SCREEN_CHANGE_NOTIFY, randr + XCB_RANDR_NOTIFY, XCB_CONFIGURE_NOTIFY,
                XCB_MAP_NOTIFY, XCB_VISIBILITY_NOTIFY:
                place = nil
            case XCB_DESTROY_NOTIFY:
                throw closed
            default:
                continue
            }
            hasChanged = true
        }
    }

    // MARK: Capturing

    /// Captures what has changed; nil if nothing has that is visible.
    func capture() throws -> Capture? {
        hasChanged = false
        let isPlaced = place != nil
        let place = try place ?? locate()
        self.place = place
        let (area, visible) = (place.area, place.visible)
        guard area.width > 0, area.height > 0 else { return nil }
        var images = images
        if (images?.width, images?.height) != (area.width, area.height) {
            images = Images(display, width: area.width, height: area.height)
            (self.images, damage) = (images, RangeSet())
        }
        damage.formUnion(findChanges(at: place))
        if !isPlaced { damage.formUnion(place.whole.rows) }
        guard !damage.isEmpty, let images else { return nil }
        let rows = damage.intersection(visible.rows)
        // It may fail if a window has closed, moved, or is not shown: an event says so, and when to try again.
        let columns = visible.x..<visible.right
        let image = try images.next(rows, columns, of: drawable, offset: place.offset) { memory in
            guard let pointer else { return }
            for y in rows.intersection(pointer.place.moved(x: -area.x, y: -area.y).rows).ranges.joined() {
                pointer.draw(on: memory.row(y, columns), at: (area.x + visible.x, area.y + y))
            }
        }
        guard let image else { return nil }
        defer { damage = RangeSet() }
        let rectangles = damage.ranges.map { range in
            PixelBuffer.Rectangle(x: 0, y: range.lowerBound, width: area.width, height: range.count)
        }
        return Capture(image: image, damage: rectangles)
    }

    /// Returns the rows that have changed since the last call.
    private func findChanges(at place: Place) -> RangeSet<Int> {
        let connection = display.connection
        // What is drawn from here on is damage again, even if it can already be seen in the pixels that are read below.
        xcb_damage_subtract(connection, damageID, 0, regionID)
        let regionCookie = xcb_xfixes_fetch_region(connection, regionID)
        let pointerCookie = drawsPointer ? xcb_xfixes_get_cursor_image(connection) : nil
        let region = xcb_xfixes_fetch_region_reply(connection, regionCookie, nil)
        defer { free(region) }

        var changes = RangeSet<Int>()
        if let region {
            let rectangles = xcb_xfixes_fetch_region_rectangles(region)
            for index in 0..<Int(xcb_xfixes_fetch_region_rectangles_length(region)) {
                guard let rectangle = rectangles?[index] else { break }
                let moved = PixelBuffer.Rectangle(rectangle).moved(x: -place.offset.x, y: -place.offset.y)
                changes.formUnion(moved.intersection(place.whole).rows)
            }
        }
        if let pointerCookie {
            let moved = Pointer(connection, pointerCookie)
            if moved != pointer {
                for changed in [pointer?.place, moved?.place].compactMap({ $0 }) {
                    changes.formUnion(changed.moved(x: -place.area.x, y: -place.area.y).intersection(place.whole).rows)
                }
                pointer = moved
            }
        }
        return changes
    }
}
