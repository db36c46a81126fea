/// Why the system creates no socket at a path, or removes none: the same words from a server and from the diagnosis.
struct PathObstacle {
    let code: PathDiagnosis.Finding.Code
    let message: String
    let remedy: String

    /// Explains an error of binding a socket in a directory, or of removing a file there.
    ///
    /// nil if the error itself says all that is known.
    init?(_ error: Errno, in directory: String) {
        switch error {
        case .notSupported, .noSystemCall, .inputOutput:
            code = .directoryWithoutSockets
            message = "the file system of \(directory) creates no sockets"
            remedy =
                "choose a directory on another file system, such as /run, /tmp or a named volume; mounts of FUSE, FAT and network "
                + "shares, and of Windows and macOS folders in WSL and Docker, have none"
        case .readOnlyFileSystem:
            code = .readOnlyFileSystem
            message = "the file system of \(directory) is mounted read-only"
            remedy = "choose another directory, or mount it with write access (in Docker: without :ro)"
        case .noSpace:
            code = .fullFileSystem
            message = "the file system of \(directory) has no space or no inodes left"
            remedy = "remove files; to see which it is: df -h and df -i"
        case .overQuota:
            code = .fullFileSystem
            message = "your quota on the file system of \(directory) is used up"
            remedy = "remove files; to see it: quota -s"
        case .busy:
            code = .mountedSocket
            message = "a socket at which nobody listens is mounted here, and cannot be replaced"
            remedy = "mount the directory of the socket in its place, so that both sides see a new server's socket"
        default:
            return nil
        }
    }

    /// The message, and the remedy.
    var text: String { "\(message); \(remedy)" }
}
