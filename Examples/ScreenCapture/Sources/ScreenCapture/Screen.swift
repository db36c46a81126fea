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
    private let drawsPointer: Bool
    private let reader: PixelReader
    private let (damageID, regionID): (xcb_damage_damage_t, xcb_xfixes_region_t)

    /// The place of what is shared, in pixels of the root window; nil if it has to be asked for.
    private var area: PixelBuffer.Rectangle?
    private var pointer: Pointer?
    /// Whether there may be something to capture.
    private(set) var hasChanged = true

    /// Two images that take turns, each with what has changed since it was last written.
    ///
    /// The uploader keeps the latest for receivers that come later, and writing to that one would copy it.
    private var images: [(pixels: PixelBuffer, stale: Damage)] = []
    /// What has changed since the last image that was captured.
    private var damage = Damage()

    init(_ display: Display, _ source: Options.Source, drawsPointer: Bool) throws {
        (self.display, self.source, self.drawsPointer) = (display, source, drawsPointer)
        reader = PixelReader(display)
        (damageID, regionID) = (display.makeID(), display.makeID())
        try locate()
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
        xcb_input_xi_select_events(display.connection, display.root, 1, &mask.0)
    }

    /// Asks where the source is.
    ///
    /// - Throws: If it does not exist.
    private func locate() throws(Failure) {
        let root = try display.rectangle(of: display.root)
        guard let root else { throw display.lost }
        switch source {
        case .screen:
            area = root
        case .monitor(let name):
            let monitors = display.monitors()
            guard let monitor = monitors[name] else {
                let names = monitors.keys.sorted().map { "'\($0)'" }.joined(separator: ", ")
                throw .noInput("no monitor '\(name)' on the display '\(display.name)', which has \(names)")
            }
            area = monitor.intersection(root)
        case .window(let window):
            area = try display.rectangle(of: window)
            if area == nil {
                throw .noInput("no window \(hexadecimal(window)) on the display '\(display.name)'; xwininfo prints IDs")
            }
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
            case randr + XCB_RANDR_SCREEN_CHANGE_NOTIFY, randr + XCB_RANDR_NOTIFY, XCB_CONFIGURE_NOTIFY:
                area = nil
            case XCB_MAP_NOTIFY, XCB_VISIBILITY_NOTIFY:
                area = nil
                images = []
            case XCB_DESTROY_NOTIFY:
                throw .noInput("the window \(hexadecimal(drawable)) was closed")
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
        if area == nil { try locate() }
        guard let area, area.width > 0, area.height > 0 else { return nil }
        try findDamage(in: area)
        guard !damage.isEmpty, try read(area) else { return nil }
        defer { damage = Damage() }
        return Capture(image: images[0].pixels, damage: damage.rectangles)
    }

    /// Adds what has changed since the last call to the damage.
    private func findDamage(in area: PixelBuffer.Rectangle) throws {
        let connection = display.connection
        let whole = PixelBuffer.Rectangle(x: 0, y: 0, width: area.width, height: area.height)
        // What is drawn from here on is damage again, even if it can already be seen in the pixels that are read below.
        xcb_damage_subtract(connection, damageID, 0, regionID)
        let regionCookie = xcb_xfixes_fetch_region(connection, regionID)
        let pointerCookie = drawsPointer ? xcb_xfixes_get_cursor_image(connection) : nil
        let region = xcb_xfixes_fetch_region_reply(connection, regionCookie, nil)
        defer { free(region) }

        var changes = Damage()
        if let region {
            // The root window's pixels begin at its own corner, and so do those of any other window.
            let origin = drawable == display.root ? (area.x, area.y) : (0, 0)
            let rectangles = xcb_xfixes_fetch_region_rectangles(region)
            for index in 0..<Int(xcb_xfixes_fetch_region_rectangles_length(region)) {
                guard let rectangle = rectangles?[index] else { break }
                changes.add(PixelBuffer.Rectangle(rectangle).moved(x: -origin.0, y: -origin.1).intersection(whole))
            }
        }
        if let pointerCookie {
            let moved = Pointer(connection, pointerCookie)
            if moved != pointer {
                for place in [pointer?.place, moved?.place].compactMap({ $0 }) {
                    changes.add(place.moved(x: -area.x, y: -area.y).intersection(whole))
                }
                pointer = moved
            }
        }
        if images.first.map({ ($0.pixels.width, $0.pixels.height) != (area.width, area.height) }) ?? true {
            reader.prepare(byteCount: 4 * area.width * area.height)
            let image = try PixelBuffer(width: area.width, height: area.height, format: .bgrx, zeroFilled: true)
            images = [(image, Damage()), (image, Damage())]
            changes.add(whole)
        }
        damage.add(changes)
        for index in images.indices { images[index].stale.add(changes) }
    }

    /// Brings the image up to date that was not captured last, which becomes the first; returns whether that was possible.
    private func read(_ area: PixelBuffer.Rectangle) throws -> Bool {
        let isRoot = drawable == display.root
        var visible = PixelBuffer.Rectangle(x: 0, y: 0, width: area.width, height: area.height)
        if !isRoot, let root = try display.rectangle(of: display.root) {
            // No part of a window can be read that is outside the screen.
            visible = visible.intersection(root.moved(x: -area.x, y: -area.y))
        }
        let (dx, dy) = isRoot ? (area.x, area.y) : (0, 0)
        let parts = images[1].stale.rectangles.map { $0.intersection(visible) }.filter { $0.width > 0 && $0.height > 0 }
        images.swapAt(0, 1)
        let hasRead = try reader.read(parts.map { $0.moved(x: dx, y: dy) }, of: drawable) { rectangle, pixels in
            try write(pixels, to: rectangle.moved(x: -dx, y: -dy), of: area)
        }
        guard hasRead else {
            images.swapAt(0, 1)
            // A window that has closed, moved, or is not shown: an event says so, and when to try again.
            return false
        }
        images[0].stale = Damage()
        return true
    }

    /// Writes pixels to a part of the first image, and the pointer over them.
    private func write(
        _ pixels: UnsafeRawBufferPointer,
        to part: PixelBuffer.Rectangle,
        of area: PixelBuffer.Rectangle
    ) throws {
        let (bytesPerRow, count) = (images[0].pixels.plane(0).bytesPerRow, 4 * part.width)
        try images[0].pixels.withMutablePlane(0) { plane in
            plane.withUnsafeMutableBytes { plane in
                for y in 0..<part.height {
                    let start = (part.y + y) * bytesPerRow + 4 * part.x
                    let row = UnsafeMutableRawBufferPointer(rebasing: plane[start..<start + count])
                    row.copyMemory(from: UnsafeRawBufferPointer(rebasing: pixels[y * count..<(y + 1) * count]))
                    pointer?.draw(on: row, at: (area.x + part.x, area.y + part.y + y))
                }
            }
        }
    }
}

extension PixelBuffer.Rectangle {
    fileprivate init(_ rectangle: xcb_rectangle_t) {
        self.init(
            x: Int(rectangle.x),
            y: Int(rectangle.y),
            width: Int(rectangle.width),
            height: Int(rectangle.height)
        )
    }
}
