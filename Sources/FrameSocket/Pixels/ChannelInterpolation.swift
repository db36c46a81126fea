/// Scales interleaved samples one channel after the other, each as a plane.
///
/// The rows are not divided into bands, because libyuv would not interpolate across their ends.
func interpolate(_ from: UnsafeArea, into to: UnsafeArea) {
    let channels = unsafe from.bytesPerSample
    let (source, target) = unsafe (
        (width: Int(from.width), height: Int(from.height)), (width: Int(to.width), height: Int(to.height))
    )
    let sourceBytes = source.width * source.height
    let byteCount = sourceBytes + target.width * target.height
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: byteCount) { scratch in
        guard let plane = scratch.baseAddress else { return }
        let scaled = unsafe plane + sourceBytes
        for channel in 0..<channels {
            for y in 0..<source.height {
                let row = unsafe from.base + y * Int(from.stride) + channel
                let samples = unsafe plane + y * source.width
                for x in 0..<source.width { unsafe samples[x] = row[x * channels] }
            }
            unsafe scale(
                UnsafeArea(plane, width: from.width, height: from.height),
                into: UnsafeArea(scaled, width: to.width, height: to.height)
            )
            for y in 0..<target.height {
                let row = unsafe to.base + y * Int(to.stride) + channel
                let samples = unsafe scaled + y * target.width
                for x in 0..<target.width { unsafe row[x * channels] = samples[x] }
            }
        }
    }
}
