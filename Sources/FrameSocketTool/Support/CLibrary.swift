// The system's C library, for every file of the program.
#if canImport(Glibc)
    @_exported public import Glibc
#elseif canImport(Musl)
    @_exported public import Musl
#elseif canImport(Darwin)
    @_exported public import Darwin
#endif

// What functions of the same names would hide.

func systemRead(_ descriptor: Int32, _ room: UnsafeMutableRawBufferPointer) -> Int {
    unsafe read(descriptor, room.baseAddress, room.count)
}

func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    unsafe write(descriptor, bytes.baseAddress, bytes.count)
}
