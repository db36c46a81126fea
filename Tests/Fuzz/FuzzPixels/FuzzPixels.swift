// Images of any size up to 4 megapixels, over memory that ends at pages that nobody may touch, through every way from pixels to
// pixels: no way reads or writes beyond them, none ends the process, and the result does not depend on where the samples lie.
//
// Memory of the package's own ends at such pages too in this build: libyuv and libturbojpeg are not instrumented.

import Foundation
import FrameSocket
import TestSupport
import TurboJPEG

private let decoder = {
    var decoder = JPEGDecoder()
    decoder.limits.maximumDimension = 65_535
    decoder.limits.maximumPixels = .max
    return decoder
}()

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPixels(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    var choices = unsafe Choices(UnsafeBufferPointer(start: start, count: count))
    do {
        let image = try choices.image()
        try check(image, &choices)
    } catch let error as TurboJPEGError {
        // Sizes that no image has are refused, and nothing else.
        guard [.invalidSize, .invalidStride].contains(error.code) else { fatalError("\(error)") }
    } catch {
        // The system has no memory.
    }
    return 0
}

/// One way from pixels to pixels, on the image and on a copy of it.
private func check(_ image: PixelBuffer, _ choices: inout Choices) throws {
    let bytes = try [UInt8](capacity: image.packedByteCount) { try image.copyPacked(into: &$0) }
    let copy = try PixelBuffer(
        copying: bytes.span,
        width: image.width,
        height: image.height,
        format: image.format
    )
    let pool = PixelBuffer.Pool()
    switch choices.byte() % 8 {
    case 0:
        let orientation = choices.orientation
        try same(image, copy) { try $0.upright(from: orientation, pool: pool) }
    case 1:
        let (width, height) = choices.size()
        try same(image, copy) { try $0.scaled(toWidth: width, height: height, pool: pool) }
    case 2:
        let plan = choices.plan(for: image)
        try same(image, copy) { try $0.applying(plan, pool: pool) }
    case 3:
        let plan = choices.plan(for: image)
        guard image.format.canBecomePlanes(by: plan) else { return }
        try same(image, copy) { try $0.planes(by: plan, pool: pool) }
    case 4:
        let (source, target) = (choices.color, choices.color)
        try same(image, copy) { try $0.converted(from: source, to: target, pool: pool) }
    case 5:
        let (width, height) = (choices.side(upTo: image.width), choices.side(upTo: image.height))
        try same(image, copy) { try $0.cropped(toWidth: width, height: height).scaled(toWidth: 16, height: 9) }
        let part = try image.cropped(toWidth: width, height: height)
        guard try part.peakSignalToNoiseRatio(against: copy.cropped(toWidth: width, height: height)) == .infinity else {
            fatalError("a part is not its copy")
        }
    case 6: try checkCodec(image, copy, &choices)
    default: try checkStrips(image, copy, &choices)
    }
}

private func same(
    _ image: PixelBuffer,
    _ copy: PixelBuffer,
    _ way: (PixelBuffer) throws -> PixelBuffer
) throws {
    let (first, second) = (try way(image), try way(copy))
    guard first.hasSamePixels(as: second) else { fatalError("the result depends on where the samples lie") }
}

private func checkCodec(_ image: PixelBuffer, _ copy: PixelBuffer, _ choices: inout Choices) throws {
    let encoder = choices.encoder
    let jpeg: [UInt8] = try encoder.encode(image)
    guard try encoder.encode(copy) == jpeg else { fatalError("the JPEG depends on where the samples lie") }
    let (format, scale) = (choices.format, choices.scale)
    let found = try decoder.decode(jpeg.span, as: format, scale: scale)
    // A buffer that is larger than the image, with rows of another distance.
    let (width, height) = (min(65_500, found.width + 1), min(65_500, found.height + 1))
    var buffer = try PixelBuffer(
        width: width,
        height: height,
        format: format,
        bytesPerRow: width * format.bytesPerPixel + Int(choices.byte() % 8)
    )
    try found.copy(toCornerOf: &buffer)
    guard try buffer.cropped(toWidth: found.width, height: found.height).hasSamePixels(as: found) else {
        fatalError("copied into a buffer, it is not the same")
    }
    var row = image
    try row.withMutableRow(image.height - 1) { $0[$0.count - 1] ^= 1 }
}

private func checkStrips(_ image: PixelBuffer, _ copy: PixelBuffer, _ choices: inout Choices) throws {
    let (encoder, format) = (choices.encoder, choices.format)
    let strips = StripEncoder(maximumThreads: 2)
    let stripDecoder = StripDecoder(decoder: decoder, maximumThreads: 2)
    var changed = copy
    let row = choices.side(upTo: image.height) - 1
    try changed.withMutableRow(row) { for index in $0.indices { $0[index] ^= 0x55 } }
    for next in [image, changed] {
        let jpeg = try strips.encode(next, with: encoder).jpeg
        let whole: [UInt8] = try encoder.encode(next)
        let expected = try decoder.decode(whole.span, as: format)
        guard try stripDecoder.decode(jpeg.span, as: format).image.hasSamePixels(as: expected) else {
            fatalError("decoded in strips, it is not the same")
        }
    }
}
