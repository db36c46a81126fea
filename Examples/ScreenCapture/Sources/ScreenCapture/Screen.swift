import CXCB
import Foundation
import FrameSocket

/// What is shared of a display, and what has changed of it.
///
/// The X server keeps the damage until it is asked for, and says only once that there is some. So a screen that does not
/// change costs nothing, and one that changes all the time costs an event for every image.
final class Screen {
    let display: Display
    private let source: Options.Source
    let drawsPointer: Bool
    private let (damageID, regionID): (xcb_damage_damage_t, xcb_xfixes_region_t)

    /// Where the image is, in pixels of the root window, and the part of it that is on the screen, in its own pixels.
    private typealias Place = (area: PixelBuffer.Rectangle, visible: PixelBuffer.Rectangle)

    /// Nil if the server has to be asked, since what is shared may have moved, or become visible.
    private var place: Place?
    private var pointer: Pointer?
    /// Whether there may be something to capture.
    var hasChanged = true

    /// The memory of the latest image, and of the one before it, with the rows in which that is another one.
    private var latest: ImageMemory?
    private var former: ImageMemory?
    private var oldRows = RangeSet<Int>()
    /// The rows that have changed since the last image that was captured.
    private var damage = RangeSet<Int>()

    init(_ display: Display, _ source: Options.Source, drawsPointer: Bool) throws {
        (self.display, self.source, self.drawsPointer) = (display, source, drawsPointer)
        (damageID, regionID) = (xcb_generate_id(display.connection), xcb_generate_id(display.connection))
        // Only to say at once if there is no such thing.
        _ = try locate()
        let (connection, root) = (display.connection, display.root)
        xcb_damage_create(connection, damageID, drawable, UInt8(XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY.rawValue))
        xcb_xfixes_create_region(connection, regionID, 0, nil)
        let changes = XCB_RANDR_NOTIFY_MASK_SCREEN_CHANGE.rawValue | XCB_RANDR_NOTIFY_MASK_CRTC_CHANGE.rawValue
        xcb_randr_select_input(connection, root, UInt16(changes))
        if drawable != root {
            var mask = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue | XCB_EVENT_MASK_VISIBILITY_CHANGE.rawValue
            xcb_change_window_attributes(connection, drawable, XCB_CW_EVENT_MASK.rawValue, &mask)
        }
        guard drawsPointer else { return }
        xcb_xfixes_select_cursor_input(connection, root, XCB_XFIXES_CURSOR_NOTIFY_MASK_DISPLAY_CURSOR.rawValue)
        guard display.reportsMotion else { return }
        // Its moves are reported to no window but the one below.
        let device = UInt16(XCB_INPUT_DEVICE_ALL_MASTER.rawValue)
        var mask = (xcb_input_event_mask_t(deviceid: device, mask_len: 1), XCB_INPUT_XI_EVENT_MASK_RAW_MOTION.rawValue)
        // A pointer to the first part alone would not make the second one follow it in memory.
        withUnsafeBytes(of: &mask) { mask in
            let masks = mask.assumingMemoryBound(to: xcb_input_event_mask_t.self).baseAddress
            _ = xcb_input_xi_select_events(connection, root, 1, masks)
        }
    }

    private var drawable: xcb_drawable_t { if case .window(let window) = source { window } else { display.root } }

    private var closed: Failure { .noInput("the window \(hexadecimal(drawable)) was closed") }

    /// Asks where the source is.
    ///
    /// - Throws: If it does not exist.
    private func locate() throws(Failure) -> Place {
        guard let root = try display.rectangle(of: display.root) else { throw display.lost }
        var area = root
        switch source {
        case .screen: break
        case .monitor(let name):
            let monitors = display.monitors()
            guard let monitor = monitors[name] else {
                let names = monitors.keys.sorted().map { "'\($0)'" }.joined(separator: ", ")
                throw .noInput("no monitor '\(name)' on the display '\(display.name)', which has \(names)")
            }
            area = monitor.intersection(root)
        case .window(let window):
            guard let rectangle = try display.rectangle(of: window) else {
                if latest != nil { throw closed }
                throw .noInput("no window \(hexadecimal(window)) on the display '\(display.name)'; xwininfo prints IDs")
            }
            area = rectangle
        }
        return (area, area.intersection(root).from((area.x, area.y)))
    }

    // MARK: Events

    /// Reads what the server has reported.
    ///
    /// - Throws: If the display is lost, or a window that is shared was closed.
    func readEvents() throws(Failure) {
        let (damage, fixes, randr) = display.firstEvents
        while let event = try display.nextEvent() {
            defer { free(event) }
            switch Int32(event.pointee.response_type & 0x7f) {
            case damage + XCB_DAMAGE_NOTIFY, fixes + XCB_XFIXES_CURSOR_NOTIFY, XCB_GE_GENERIC: break
            case randr + XCB_RANDR_SCREEN_CHANGE_NOTIFY, randr + XCB_RANDR_NOTIFY, XCB_CONFIGURE_NOTIFY,
                XCB_MAP_NOTIFY, XCB_VISIBILITY_NOTIFY:
                place = nil
            case XCB_DESTROY_NOTIFY: throw closed
            default: continue
            }
            hasChanged = true
        }
    }

    // MARK: Capturing

    /// Returns an image and where it may differ from the one before; nil if nothing has changed that is visible.
    func capture() throws -> (image: PixelBuffer, damage: [PixelBuffer.Rectangle])? {
        hasChanged = false
        let isLocated = place != nil
        let place = try place ?? locate()
        self.place = place
        let (area, visible) = place
        guard area.width > 0, area.height > 0 else { return nil }
        let corner = (area.x, area.y)
        let whole = area.from(corner)
        if let latest, (latest.width, latest.height) != (area.width, area.height) {
            (self.latest, former, damage) = (nil, nil, RangeSet())
        }
        damage.formUnion(isLocated ? findChanges(in: area) : findChanges(in: area).union(whole.rows))
        guard !damage.isEmpty else { return nil }
        // No other pixels of a window can be read.
        let (rows, columns) = (damage.intersection(visible.rows), visible.x..<visible.right)
        // Usually, nothing refers to the former image any longer.
        if !isKnownUniquelyReferenced(&former) { (former, oldRows) = (nil, whole.rows) }
        let memory = try former ?? ImageMemory(display, width: area.width, height: area.height)
        // Reading again what is no part of this damage could show what came after it.
        if let latest { memory.copy(columns.count == area.width ? oldRows.subtracting(rows) : oldRows, of: latest) }
        (former, oldRows) = (memory, rows)
        // It may fail if a window has closed, moved, or is not shown: an event says so, and when to try again.
        guard memory.read(rows, columns, of: drawable, offset: origin(of: area)) else { return nil }
        if let pointer {
            for y in rows.intersection(pointer.place.from(corner).rows).ranges.joined() {
                pointer.draw(on: memory.row(y, columns), at: (area.x + visible.x, area.y + y))
            }
        }
        (latest, former) = (memory, latest)
        defer { damage = RangeSet() }
        return (try memory.image(), damage.ranges.map { .init(0, $0.lowerBound, area.width, $0.count) })
    }

    /// Where the image begins in the drawable.
    private func origin(of area: PixelBuffer.Rectangle) -> (x: Int, y: Int) {
        drawable == display.root ? (area.x, area.y) : (0, 0)
    }

    /// Returns the rows of the image that have changed since the last call.
    private func findChanges(in area: PixelBuffer.Rectangle) -> RangeSet<Int> {
        let (connection, corner) = (display.connection, (area.x, area.y))
        // What is drawn from here on is damage again, even if it can already be seen in the pixels that are read below.
        xcb_damage_subtract(connection, damageID, 0, regionID)
        let regionCookie = xcb_xfixes_fetch_region(connection, regionID)
        let pointerCookie = drawsPointer ? xcb_xfixes_get_cursor_image(connection) : nil
        let region = xcb_xfixes_fetch_region_reply(connection, regionCookie, nil)
        defer { free(region) }

        var changed: [PixelBuffer.Rectangle] = []
        if let region, let rectangles = xcb_xfixes_fetch_region_rectangles(region) {
            let count = Int(xcb_xfixes_fetch_region_rectangles_length(region))
            changed = UnsafeBufferPointer(start: rectangles, count: count).map { place in
                PixelBuffer.Rectangle(place.x, place.y, place.width, place.height).from(origin(of: area))
            }
        }
        if let pointerCookie, case let moved = Pointer(connection, pointerCookie), moved != pointer {
            changed += [pointer, moved].compactMap { $0?.place.from(corner) }
            pointer = moved
        }
        let whole = area.from(corner)
        return changed.reduce(into: RangeSet()) { rows, place in rows.formUnion(place.intersection(whole).rows) }
    }
}
