// The system's C library, for every file of the program.
#if canImport(Glibc)
    @_exported public import Glibc
#elseif canImport(Musl)
    @_exported public import Musl
#elseif canImport(Darwin)
    @_exported public import Darwin
#endif

// What functions of the same names would hide. Whoever has started the program may have made its standard streams
// non-blocking, also of a pipe that others share; they are waited for all the same, as after a signal.

func systemRead(_ descriptor: Int32, _ room: UnsafeMutableRawBufferPointer) -> Int {
    waiting(for: Int16(POLLIN), on: descriptor) { unsafe read(descriptor, room.baseAddress, room.count) }
}

func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    waiting(for: Int16(POLLOUT), on: descriptor) { unsafe write(descriptor, bytes.baseAddress, bytes.count) }
}

private func waiting(for event: Int16, on descriptor: Int32, _ call: () -> Int) -> Int {
    while true {
        let result = call()
        guard result < 0, errno == EAGAIN || errno == EINTR else { return result }
        if errno == EAGAIN { systemWait(for: event, on: descriptor) }
    }
}

/// Waits until a descriptor takes or has bytes, or has none any more.
func systemWait(for event: Int16 = Int16(POLLIN), on descriptor: Int32) {
    var state = pollfd(fd: descriptor, events: event, revents: 0)
    while unsafe poll(&state, 1, -1) < 0, errno == EINTR {}
}
