internal import CYUV

/// Scales interleaved samples down, each to the mean of all that it covers.
///
/// libyuv does that only for planes of single bytes; of larger pixels, it uses only four, or one, whatever the ratio.
/// Therefore the channels are split, scaled one by one, and merged again.
func scaleByBox(_ from: UnsafeArea, into to: UnsafeArea) {
    let channels = unsafe from.bytesPerSample
    let bands = unsafe ScalingBand.all(sourceHeight: Int(from.height), targetHeight: Int(to.height))
    let sourceBytes = unsafe Int(from.width) * (bands.map(\.source.count).max() ?? 0)
    let targetBytes = unsafe Int(to.width) * (bands.map(\.target.count).max() ?? 0)
    let byteCount = channels * (sourceBytes + targetBytes)
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: byteCount) { scratch in
        guard let apart = scratch.baseAddress else { return }
        let scaled = unsafe apart + channels * sourceBytes
        for band in bands {
            let (source, target) = unsafe (from.rows(band.source), to.rows(band.target))
            unsafe takeApart(source, into: apart, sourceBytes)
            for channel in 0..<channels {
                unsafe scale(
                    UnsafeArea(apart + channel * sourceBytes, width: source.width, height: source.height),
                    into: UnsafeArea(scaled + channel * targetBytes, width: target.width, height: target.height)
                )
            }
            unsafe putTogether(scaled, targetBytes, into: target)
        }
    }
}

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

/// Writes every channel to a separate plane; `distance` is that between two planes.
private func takeApart(_ area: UnsafeArea, into planes: UnsafeMutablePointer<UInt8>, _ distance: Int) {
    let (base, stride, width, height) = unsafe (area.base, area.stride, area.width, area.height)
    // The names of the channels do not matter: libyuv calls the first byte of a pixel blue, or red if there are three.
    let first = unsafe planes
    let (second, third, fourth) = unsafe (planes + distance, planes + 2 * distance, planes + 3 * distance)
    switch unsafe area.bytesPerSample {
    case 2:
        unsafe SplitUVPlane(base, stride, first, width, second, width, width, height)
    case 3:
        unsafe SplitRGBPlane(base, stride, first, width, second, width, third, width, width, height)
    default:
        unsafe SplitARGBPlane(
            base,
            stride,
            third,
            width,
            second,
            width,
            first,
            width,
            fourth,
            width,
            width,
            height
        )
    }
}

/// The reverse of ``takeApart(_:into:_:)``.
private func putTogether(_ planes: UnsafeMutablePointer<UInt8>, _ distance: Int, into area: UnsafeArea) {
    let (base, stride, width, height) = unsafe (area.base, area.stride, area.width, area.height)
    let first = unsafe planes
    let (second, third, fourth) = unsafe (planes + distance, planes + 2 * distance, planes + 3 * distance)
    switch unsafe area.bytesPerSample {
    case 2:
        unsafe MergeUVPlane(first, width, second, width, base, stride, width, height)
    case 3:
        unsafe MergeRGBPlane(first, width, second, width, third, width, base, stride, width, height)
    default:
        unsafe MergeARGBPlane(
            third,
            width,
            second,
            width,
            first,
            width,
            fourth,
            width,
            base,
            stride,
            width,
            height
        )
    }
}
