import CXCB
import Foundation
import FrameSocket

/// A connection to an X server that has the extensions this program needs.
final class Display {
    let connection: OpaquePointer
    let name: String
    let root: xcb_window_t
    /// Those whose pixels are blue, green and red, from the lowest byte on.
    private let visuals: Set<xcb_visualid_t>
    /// The numbers of the first event of three extensions.
    let firstEvents: (damage: Int32, fixes: Int32, randr: Int32)
    /// Whether the server can do without which nothing is missing: shared memory, and reports of the pointer's moves.
    private let sharesMemory: Bool
    let reportsMotion: Bool

    init(_ requested: String?) throws(Failure) {
        name = requested ?? ProcessInfo.processInfo.environment["DISPLAY"] ?? ""
        var number: Int32 = 0
        guard let connection = xcb_connect(requested, &number), xcb_connection_has_error(connection) == 0 else {
            throw .unavailable("cannot open the display '\(name)'; name one that runs with --display, such as :0")
        }
        self.connection = connection
        let setup = xcb_get_setup(connection)
        var screens = xcb_setup_roots_iterator(setup)
        for _ in 0..<number { xcb_screen_next(&screens) }
        root = screens.data.pointee.root
        visuals = Self.visuals(of: screens.data)
        func event(of name: String) throws(Failure) -> Int32 {
            if let event = Self.firstEvent(of: name, connection) { return event }
            throw .unavailable("the X server lacks the extension \(name); start it without '-extension \(name)'")
        }
        firstEvents = try (event(of: "DAMAGE"), event(of: "XFIXES"), event(of: "RANDR"))
        sharesMemory = Self.firstEvent(of: "MIT-SHM", connection) != nil
        reportsMotion = Self.firstEvent(of: "XInputExtension", connection) != nil
        // An extension may be used once its client has stated a version. Nobody waits for the answers.
        xcb_discard_reply(connection, xcb_damage_query_version(connection, 1, 1).sequence)
        xcb_discard_reply(connection, xcb_xfixes_query_version(connection, 5, 0).sequence)
        xcb_discard_reply(connection, xcb_randr_query_version(connection, 1, 5).sequence)
        if reportsMotion { xcb_discard_reply(connection, xcb_input_xi_query_version(connection, 2, 2).sequence) }
        guard setup?.pointee.image_byte_order == UInt8(XCB_IMAGE_ORDER_LSB_FIRST.rawValue) else {
            throw .unavailable("the display '\(name)' has big-endian pixels: use one of a little-endian machine")
        }
    }

    deinit { xcb_disconnect(connection) }

    /// The visuals of a screen that say where the colors of a pixel are as this program expects them.
    private static func visuals(of screen: UnsafeMutablePointer<xcb_screen_t>) -> Set<xcb_visualid_t> {
        var found: Set<xcb_visualid_t> = []
        var depths = xcb_screen_allowed_depths_iterator(screen)
        while depths.rem > 0 {
            let count = Int(xcb_depth_visuals_length(depths.data))
            for visual in UnsafeBufferPointer(start: xcb_depth_visuals(depths.data), count: count)
            where (visual.red_mask, visual.green_mask, visual.blue_mask) == (0xFF0000, 0xFF00, 0xFF) {
                found.insert(visual.visual_id)
            }
            xcb_depth_next(&depths)
        }
        return found
    }

    /// The number of the first event of an extension; nil if the server lacks it.
    private static func firstEvent(of name: String, _ connection: OpaquePointer) -> Int32? {
        let cookie = xcb_query_extension(connection, UInt16(name.utf8.count), name)
        let reply = answer(xcb_query_extension_reply(connection, cookie, nil))
        return reply.flatMap { $0.present == 0 ? nil : Int32($0.first_event) }
    }

    /// Memory that the server has made: its number there, and a descriptor of it, so that none is left behind however
    /// this ends; nil if the server is on another machine.
    func makeMemory(_ byteCount: Int) -> (segment: xcb_shm_seg_t, descriptor: Int32)? {
        guard sharesMemory else { return nil }
        let segment = xcb_generate_id(connection)
        let cookie = xcb_shm_create_segment(connection, segment, UInt32(byteCount), 0)
        guard let reply = xcb_shm_create_segment_reply(connection, cookie, nil) else { return nil }
        defer { free(reply) }
        return xcb_shm_create_segment_reply_fds(connection, reply).map { (segment, $0.pointee) }
    }

    // MARK: Events

    var lost: Failure { .unavailable("the display '\(name)' was lost: its X server has ended the connection") }

    /// The next event that has arrived, to be freed; nil if there is none.
    ///
    /// - Throws: If there will be no more.
    func nextEvent() throws(Failure) -> UnsafeMutablePointer<xcb_generic_event_t>? {
        // First, because sending may also receive: an event that the library holds wakes nobody.
        xcb_flush(connection)
        let event = xcb_poll_for_event(connection)
        if event == nil, xcb_connection_has_error(connection) != 0 { throw lost }
        return event
    }

    /// The descriptor at which events arrive, and everything else that the server sends.
    var descriptor: Int32 { xcb_get_file_descriptor(connection) }

    // MARK: Where things are

    /// The place and the size of a window, in pixels of the root window; nil if it does not exist.
    func rectangle(of window: xcb_window_t) throws(Failure) -> PixelBuffer.Rectangle? {
        let (first, second) = (xcb_get_geometry(connection, window), xcb_get_window_attributes(connection, window))
        let third = xcb_translate_coordinates(connection, window, root, 0, 0)
        let geometry = answer(xcb_get_geometry_reply(connection, first, nil))
        let attributes = answer(xcb_get_window_attributes_reply(connection, second, nil))
        let origin = answer(xcb_translate_coordinates_reply(connection, third, nil))
        guard let geometry, let origin, let attributes else { return nil }
        // Every pixel has to have four bytes, of which blue is the first.
        let place = window == root ? "the display '\(name)'" : "the window \(hexadecimal(window))"
        guard geometry.depth == 24 || geometry.depth == 32 else {
            throw .unavailable("\(place) has \(geometry.depth) bits per pixel: use one of 24 or 32")
        }
        guard visuals.contains(attributes.visual) else {
            let colors = "pixels with their colors in another order than blue, green, red"
            throw .unavailable("\(place) has \(colors): use another visual")
        }
        return .init(origin.dst_x, origin.dst_y, geometry.width, geometry.height)
    }

    /// The monitors, by name.
    func monitors() -> [String: PixelBuffer.Rectangle] {
        let reply = xcb_randr_get_monitors_reply(connection, xcb_randr_get_monitors(connection, root, 1), nil)
        defer { free(reply) }
        guard let reply else { return [:] }
        var result: [String: PixelBuffer.Rectangle] = [:]
        var monitors = xcb_randr_get_monitors_monitors_iterator(reply)
        while monitors.rem > 0 {
            let info = monitors.data.pointee
            result[atomName(info.name)] = .init(info.x, info.y, info.width, info.height)
            xcb_randr_monitor_info_next(&monitors)
        }
        return result
    }

    private func atomName(_ atom: xcb_atom_t) -> String {
        let reply = xcb_get_atom_name_reply(connection, xcb_get_atom_name(connection, atom), nil)
        defer { free(reply) }
        guard let reply else { return "" }
        let count = Int(xcb_get_atom_name_name_length(reply))
        return String(
            decoding: UnsafeRawBufferPointer(start: xcb_get_atom_name_name(reply), count: count),
            as: UTF8.self
        )
    }
}

/// The fixed part of what the server has answered, which is freed; nil if that is an error.
private func answer<Reply>(_ reply: UnsafeMutablePointer<Reply>?) -> Reply? {
    defer { free(reply) }
    return reply?.pointee
}

func hexadecimal(_ id: UInt32) -> String { "0x" + String(id, radix: 16) }
