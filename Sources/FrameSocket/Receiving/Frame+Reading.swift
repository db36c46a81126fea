internal import FrameTransport
internal import TurboJPEG

extension Frame {
    /// Runs `body`, which reads the frame's image, and reports to the connection whether it could.
    ///
    /// Whatever reads images of frames does it in here, so that a sender of images that nobody can read is ended by
    /// every consumer alike, however much of an image it has to understand.
    ///
    /// - Throws: The error of `body`. A lack of memory or of the library is not the sender's fault, and not reported.
    package func reading<Value>(_ body: () throws(TurboJPEGError) -> Value) throws(TurboJPEGError) -> Value {
        let value: Value
        do {
            value = try body()
        } catch {
            if ![.allocationFailed, .codecUnavailable].contains(error.code) { reportUndecodable() }
            throw error
        }
        reportDecoded()
        return value
    }
}
