package import Foundation

/// A system call that failed.
package struct SystemFailure: Error, CustomStringConvertible {
    package let call: String
    package let error: Int32

    package init(call: String, error: Int32) {
        self.call = call
        self.error = error
    }

    package var description: String { unsafe "\(call): \(String(cString: strerror(error)))" }
}

/// Both ends of a pipe, neither of which a child inherits.
package struct PipeEnds {
    package let readEnd: Int32
    package let writeEnd: Int32

    package init() throws {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw SystemFailure(call: "pipe", error: errno) }
        (readEnd, writeEnd) = (ends[0], ends[1])
        _ = fcntl(readEnd, F_SETFD, FD_CLOEXEC)
        _ = fcntl(writeEnd, F_SETFD, FD_CLOEXEC)
    }
}

/// Starts a process in a group of its own, with the default signals and no descriptors but the first three.
package func spawn(_ executable: String, _ arguments: [String], _ descriptors: [Int32]) throws -> pid_t {
    #if canImport(Darwin)
        var actions = unsafe posix_spawn_file_actions_t(nil)
        var attributes = unsafe posix_spawnattr_t(nil)
        let closing = POSIX_SPAWN_CLOEXEC_DEFAULT
    #else
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        let closing: Int32 = 0
    #endif
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (number, descriptor) in descriptors.enumerated() {
        unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
    }
    #if !canImport(Darwin)
        // More than the tests ever have open; that most are not is no error.
        for descriptor in Int32(descriptors.count)..<512 {
            unsafe posix_spawn_file_actions_addclose(&actions, descriptor)
        }
    #endif

    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    unsafe sigfillset(&signals)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    let flags = Int32(POSIX_SPAWN_SETPGROUP) | Int32(POSIX_SPAWN_SETSIGDEF) | Int32(POSIX_SPAWN_SETSIGMASK) | closing
    unsafe posix_spawnattr_setflags(&attributes, Int16(flags))

    var words = unsafe ([executable] + arguments).map { unsafe strdup($0) } + [nil]
    defer { unsafe words.forEach { unsafe free($0) } }
    var process = pid_t()
    let error = unsafe posix_spawn(&process, executable, &actions, &attributes, &words, environ)
    guard error == 0 else { throw SystemFailure(call: "posix_spawn \(executable)", error: error) }
    return process
}
