import FrameSocket

extension TurboJPEGError {
    /// The description, with the option of the commands that would have avoided the error, if there is one.
    var advice: String { isDeviation ? "\(self) (--lenient)" : "\(self)" }
}
