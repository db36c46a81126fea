/// The changes that make a JPEG that deviates from the format one that the library reads without a warning.
///
/// With a warning the library could not be told to stop at damaged data. What it decodes is the same with the changes
/// as without them.
struct JPEGRepair: Sendable, Equatable {
    /// Bytes to overwrite.
    private struct Patch: Sendable, Equatable {
        let range: Range<Int>
        let byte: UInt8
    }

    /// The maximum number of patches: nothing that a camera writes has nearly as many, and each takes memory.
    private static let maximumPatches = 1_000

    private var patches: [Patch] = []
    /// The offset at which the marker that ends the image is missing.
    var missingEnd: Int?

    /// Whether there are more changes than anybody should have to make.
    var isTooMuch: Bool { patches.count > Self.maximumPatches }

    /// Adds bytes to overwrite with others.
    mutating func set(_ range: Range<Int>, to byte: UInt8) {
        patches.append(Patch(range: range, byte: byte))
    }

    /// Calls a closure with the changed bytes; with the same ones if there is nothing to change.
    func apply<Result>(
        to jpeg: Span<UInt8>,
        _ body: (Span<UInt8>) throws(TurboJPEGError) -> Result
    ) throws(TurboJPEGError) -> Result {
        guard self != JPEGRepair() else { return try body(jpeg) }
        let kept = missingEnd ?? jpeg.count
        var bytes: [UInt8] = []
        bytes.reserveCapacity(kept + 2)
        unsafe jpeg.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0[..<kept]) }
        for patch in patches {
            for index in patch.range { bytes[index] = patch.byte }
        }
        if missingEnd != nil { bytes += [0xFF, JPEGMarker.end] }
        let changed = bytes[...]
        return try body(changed.span)
    }
}
