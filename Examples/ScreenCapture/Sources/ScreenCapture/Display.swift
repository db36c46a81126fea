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
    let (sharesMemory, reportsMotion): (Bool, Bool)

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
        try Self.check(depth: screens.data.pointee.root_depth, of: "the display '\(name)'")
        visuals = Self.visuals(of: screens.data)
        guard setup?.pointee.image_byte_order == UInt8(XCB_IMAGE_ORDER_LSB_FIRST.rawValue) else {
            throw .unavailable("the display '\(name)' has big-endian pixels: use one of a little-endian machine")
        }
        func required(_ name: String) throws(Failure) -> Int32 {
            if let event = Self.firstEvent(of: name, connection) { return event }
            throw .unavailable("the X server lacks the extension \(name); start it without '-extension \(name)'")
        }
        firstEvents = try (required("DAMAGE"), required("XFIXES"), required("RANDR"))
        sharesMemory = Self.firstEvent(of: "MIT-SHM", connection) != nil
        reportsMotion = Self.firstEvent(of: "XInputExtension", connection) != nil
        // An extension may be used once its client has stated a version. Nobody waits for the answers.
        xcb_discard_reply(connection, xcb_damage_query_version(connection, 1, 1).sequence)
        xcb_discard_reply(connection, xcb_xfixes_query_version(connection, 5, 0).sequence)
        xcb_discard_reply(connection, xcb_randr_query_version(connection, 1, 5).sequence)
        if reportsMotion { xcb_discard_reply(connection, xcb_input_xi_query_version(connection, 2, 2).sequence) }
        try check(visual: screens.data.pointee.root_visual, of: "the display '\(name)'")
    }

    deinit { xcb_disconnect(connection) }

    /// Every pixel has to have four bytes, of which blue is the first.
    static func check(depth: UInt8, of place: String) throws(Failure) {
        guard depth == 24 || depth == 32 else {
            throw .unavailable("\(place) has \(depth) bits per pixel: use one of 24 or 32")
        }
    }

    /// The visuals of a screen that say where the colors of a pixel are as this program expects them.
    private static func visuals(of screen: UnsafeMutablePointer<xcb_screen_t>) -> Set<xcb_visualid_t> {
        var found: Set<xcb_visualid_t> = []
        var depths = xcb_screen_allowed_depths_iterator(screen)
        while depths.rem > 0 {
            let visuals = UnsafeBufferPointer(
                start: xcb_depth_visuals(depths.data),
                count: Int(xcb_depth_visuals_length(depths.data))
            )
            for visual in visuals
            where (visual.red_mask, visual.green_mask, visual.blue_mask) == (0xFF0000, 0xFF00, 0xFF) {
                found.insert(visual.visual_id)
            }
            xcb_depth_next(&depths)
        }
        return found
    }

    private func check(visual: xcb_visualid_t, of place: String) throws(Failure) {
        guard visuals.contains(visual) else {
            throw .unavailable(
                "\(place) has pixels with their colors in another order than blue, green, red: use another visual"
            )
        }
    }

    /// The number of the first event of an extension; nil if the server lacks it.
    private static func firstEvent(of name: String, _ connection: OpaquePointer) -> Int32? {
        let cookie = xcb_query_extension(connection, UInt16(name.utf8.count), name)
        let reply = xcb_query_extension_reply(connection, cookie, nil)
        defer { free(reply) }
        guard let reply, reply.pointee.present != 0 else { return nil }
        return Int32(reply.pointee.first_event)
    }

    /// A number for something that the server is to make.
    func makeID() -> UInt32 { xcb_generate_id(connection) }

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
}

/// Waits until there is something to read, the task is cancelled, or some seconds have passed, for which it returns false.
@discardableResult
func waitUntilReadable(_ descriptor: Int32, for seconds: Double? = nil) async -> Bool {
    let (ends, continuation) = AsyncStream.makeStream(of: Bool.self)
    let (source, timer) = (DispatchSource.makeReadSource(fileDescriptor: descriptor), DispatchSource.makeTimerSource())
    source.setEventHandler { continuation.yield(true) }
    timer.setEventHandler { continuation.yield(false) }
    timer.schedule(deadline: seconds.map { .now() + $0 } ?? .distantFuture)
    source.resume()
    timer.resume()
    let end = await ends.first { _ in true }
    source.cancel()
    timer.cancel()
    return end ?? true
}

/// Where things are on the display.
extension Display {
    /// The place and the size of a window, in pixels of the root window; nil if it does not exist.
    func rectangle(of window: xcb_window_t) throws(Failure) -> PixelBuffer.Rectangle? {
        let (first, second, third) = (
            xcb_get_geometry(connection, window), xcb_translate_coordinates(connection, window, root, 0, 0),
            xcb_get_window_attributes(connection, window)
        )
        let geometry = xcb_get_geometry_reply(connection, first, nil)
        defer { free(geometry) }
        let origin = xcb_translate_coordinates_reply(connection, second, nil)
        defer { free(origin) }
        let attributes = xcb_get_window_attributes_reply(connection, third, nil)
        defer { free(attributes) }
        guard let geometry, let origin, let attributes else { return nil }
        try Self.check(depth: geometry.pointee.depth, of: "the window \(hexadecimal(window))")
        try check(visual: attributes.pointee.visual, of: "the window \(hexadecimal(window))")
        return PixelBuffer.Rectangle(
            x: Int(origin.pointee.dst_x),
            y: Int(origin.pointee.dst_y),
            width: Int(geometry.pointee.width),
            height: Int(geometry.pointee.height)
        )
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
            result[atomName(info.name)] = PixelBuffer.Rectangle(
                x: Int(info.x),
                y: Int(info.y),
                width: Int(info.width),
                height: Int(info.height)
            )
            xcb_randr_monitor_info_next(&monitors)
        }
        return result
    }

    private func atomName(_ atom: xcb_atom_t) -> String {
        let reply = xcb_get_atom_name_reply(connection, xcb_get_atom_name(connection, atom), nil)
        defer { free(reply) }
        guard let reply else { return "" }
        let bytes = UnsafeRawBufferPointer(
            start: xcb_get_atom_name_name(reply),
            count: Int(xcb_get_atom_name_name_length(reply))
        )
        return String(decoding: bytes, as: UTF8.self)
    }
}

func hexadecimal(_ id: UInt32) -> String { "0x" + String(id, radix: 16) }
