// JPEGs of strips that are edited as the input says: whatever they are, decoding them in strips gives the pixels or the error that
// libturbojpeg gives for the whole, from the start and behind a JPEG that differs from them in places.

import TestSupport
import TurboJPEG

/// What libFuzzer calls with each input: a JPEG to begin with, how to decode, and edits of four bytes each.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzStrips(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = unsafe Span(_unsafeStart: start, count: count)
    guard input.count >= 3 else { return 0 }
    let number = Int(input[0]) % bases.count
    let (base, other) = (bases[number], bases[number ^ 1])
    let coding = Coding(input[1], input[2])
    var edited = base
    var index = 3
    while index + 4 <= input.count, edited.count < 20_000 {
        edited.edit(at: Int(input[index]) << 8 | Int(input[index + 1]), input[index + 2], input[index + 3])
        index += 4
    }
    let whole = Outcome(of: edited, coding)
    let strips = StripDecoder(decoder: coding.decoder, maximumThreads: 1)
    // From the start, behind one that differs in places, behind itself, and behind one that may have failed.
    expect(Outcome(of: edited, by: strips, as: coding.format), equals: whole)
    strips.forget()
    unsafe expect(Outcome(of: base, by: strips, as: coding.format), equals: known[number, coding])
    expect(Outcome(of: edited, by: strips, as: coding.format), equals: whole)
    expect(Outcome(of: edited, by: strips, as: coding.format), equals: whole)
    unsafe expect(Outcome(of: other, by: strips, as: coding.format), equals: known[number ^ 1, coding])
    unsafe expect(Outcome(of: base, by: strips, as: coding.format), equals: known[number, coding])
    guard isHigh(number / 2) else { return 0 }
    // As two threads divide it.
    let divided = StripDecoder(decoder: coding.decoder, maximumThreads: 2)
    expect(Outcome(of: edited, by: divided, as: coding.format), equals: whole)
    return 0
}

/// Whether the JPEGs of a pair are high enough for two threads.
private func isHigh(_ pair: Int) -> Bool { pair % 4 == 0 }

/// Pairs of JPEGs of one kind, of which the second one differs from the first in places.
private let bases: [[UInt8]] = {
    var bases: [[UInt8]] = []
    for (number, subsampling) in (ChromaSubsampling.allCases + ChromaSubsampling.allCases).enumerated() {
        let size =
            isHigh(number)
            ? (width: 17, height: 16 * subsampling.mcuHeight + 1) : (width: 50 + number, height: 70 - number)
        let encoder = JPEGEncoder(quality: 60 + 3 * number, subsampling: subsampling)
        let strips = StripEncoder(mcuRows: number == 8 ? 16 : 1 + number % 3, maximumThreads: 1)
        for changed in [0, 9] {
            guard let image = try? image(size.width, size.height, changed: changed),
                let jpeg = try? strips.encode(image, with: encoder).jpeg
            else { fatalError("the image cannot be encoded") }
            // Otherwise nothing of this would be tried.
            guard let changes = try? StripDecoder().decode(jpeg.span, as: .bgra).changes, changes.stripCount > 1 else {
                fatalError("the JPEG is not decoded in strips")
            }
            bases.append(jpeg)
        }
    }
    return bases
}()

private func image(_ width: Int, _ height: Int, changed rows: Int) throws -> PixelBuffer {
    var image = try PixelBuffer(width: width, height: height, format: .bgra)
    var state: UInt32 = 7
    for y in 0..<height {
        try image.withMutableRow(y) { row in
            for x in 0..<row.count {
                state = state &* 1_664_525 &+ 1_013_904_223
                let noise = x / 4 % 24 < 8 ? UInt8(truncatingIfNeeded: state >> 26) : 0
                row[x] = UInt8(truncatingIfNeeded: x * 3 + y * 5) ^ noise
                if (20..<(20 + rows)).contains(y) { row[x] ^= 0x3C }
            }
        }
    }
    return image
}

/// What the unedited JPEGs are as a whole.
nonisolated(unsafe) private let known = KnownOutcomes()

private final class KnownOutcomes {
    private var outcomes: [Int: Outcome] = [:]

    subscript(number: Int, coding: Coding) -> Outcome {
        let key = number * 1_000 + coding.number
        if let outcome = outcomes[key] { return outcome }
        let outcome = Outcome(of: bases[number], coding)
        outcomes[key] = outcome
        return outcome
    }
}

/// How JPEGs are decoded.
private struct Coding {
    let format: PixelFormat
    let decoder: JPEGDecoder
    /// Another one for each way.
    let number: Int

    init(_ first: UInt8, _ second: UInt8) {
        let formats = PixelFormat.allCases
        format = formats[Int(first) % formats.count]
        number = Int(first) % formats.count * 16 + Int(second) % 16
        var decoder = JPEGDecoder()
        decoder.limits.maximumPixels = 1 << 14
        decoder.limits.acceptsMissingHuffmanTables = second & 4 != 0
        decoder.limits.acceptsDeviations = second & 8 != 0
        self.decoder = decoder
    }
}

extension [UInt8] {
    /// Changes, inserts, removes or moves bytes; every other place is one of a marker.
    fileprivate mutating func edit(at number: Int, _ operation: UInt8, _ value: UInt8) {
        var place = number / 2 % Swift.max(1, count)
        if number % 2 == 1 {
            let markers = indices.dropLast().filter { self[$0] == 0xFF && self[$0 + 1] != 0 }
            if !markers.isEmpty { place = markers[number / 2 % markers.count] }
        }
        place = Swift.min(Swift.max(0, place + Int(operation >> 5) - 4), Swift.max(0, count - 1))
        guard !isEmpty else { return }
        switch operation % 8 {
        case 0: self[place] = value
        case 1: self[place] ^= 1 << (value % 8)
        case 2: insert(value, at: place)
        case 3: removeSubrange(place..<Swift.min(count, place + 1 + Int(value) % 24))
        case 4: insert(contentsOf: repeatElement(value % 16 < 8 ? 0 : 0x55, count: 1 + Int(value) % 16), at: place)
        case 5: insert(contentsOf: self[place..<Swift.min(count, place + 1 + Int(value))], at: place)
        case 6: swapAt(place, (place + Int(value) * 3) % count)
        default: insert(contentsOf: [0xFF, value], at: place)
        }
    }
}

private enum Outcome {
    case image(PixelBuffer)
    case failure(TurboJPEGError)

    init(of jpeg: [UInt8], _ coding: Coding) {
        do throws(TurboJPEGError) {
            self = .image(try coding.decoder.decode(jpeg.span, as: coding.format))
        } catch {
            self = .failure(error)
        }
    }

    init(of jpeg: [UInt8], by strips: StripDecoder, as format: PixelFormat) {
        do throws(TurboJPEGError) {
            self = .image(try strips.decode(jpeg.span, as: format).image)
        } catch {
            self = .failure(error)
        }
    }
}

private func expect(_ found: Outcome, equals expected: Outcome) {
    switch (found, expected) {
    case (.image(let found), .image(let expected)):
        guard found.hasSamePixels(as: expected) else { fatalError("decoded in strips, it has other pixels") }
    case (.failure(let found), .failure(let expected)):
        guard found == expected else { fatalError("decoded in strips, it fails otherwise: \(found), not \(expected)") }
    case (.image, .failure(let expected)): fatalError("decoded in strips, it does not fail: \(expected)")
    case (.failure(let found), .image): fatalError("decoded in strips, it fails: \(found)")
    }
}
