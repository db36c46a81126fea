// Bytes that should be a JPEG: whatever they are, there is an image or a typed error, the same each time, and nothing is
// left over for the next one.

import TurboJPEG

/// Small images alone, so that many fit into a second.
private let decoder = {
    var decoder = JPEGDecoder()
    decoder.limits.maximumPixels = 1 << 14
    return decoder
}()

private let strips = StripDecoder(decoder: decoder, maximumThreads: 1)

/// As a program decodes what cameras send.
private let lenientDecoder = {
    var decoder = decoder
    decoder.limits = .lenient
    decoder.limits.maximumPixels = 1 << 14
    decoder.limits.maximumProgressiveScans = 4
    return decoder
}()

private let lenientStrips = StripDecoder(decoder: lenientDecoder, maximumThreads: 1)

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJPEG(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let jpeg = unsafe Span(_unsafeStart: start, count: count)
    let first = Outcome(of: jpeg, by: decoder, as: .bgra)
    // A decoder that has seen others, or itself fail, decodes as it did before.
    guard Outcome(of: jpeg, by: decoder, as: .bgra) == first else { fatalError("decoded twice, it is not the same") }
    // In strips it is what it is as a whole: from the start, behind one that differs in a byte, and behind itself.
    strips.forget()
    let start = Outcome(of: jpeg, by: strips)
    var near = (0..<jpeg.count).map { jpeg[$0] }
    if !near.isEmpty { near[near.count * 3 / 4] ^= 0x10 }
    strips.forget()
    _ = Outcome(of: near.span, by: strips)
    guard start == first, Outcome(of: jpeg, by: strips) == first, Outcome(of: jpeg, by: strips) == first else {
        fatalError("decoded in strips, it is not the same")
    }
    fuzzLeniently(jpeg, strict: first)
    _ = try? JPEGHeader.size(of: jpeg)
    if case .image(let image) = first {
        guard let header = try? JPEGHeader(inspecting: jpeg) else { fatalError("decoded, but it has no header") }
        guard (header.width, header.height) == (image.width, image.height) else { fatalError("another size") }
        _ = Outcome(of: jpeg, by: decoder, as: .i420)
        _ = Outcome(of: jpeg, by: decoder, as: .rgb, scale: .half)
        _ = try? JPEGTransform.rotate90.apply(to: jpeg, edges: .trim, limits: decoder.limits)
    } else {
        _ = try? JPEGHeader(inspecting: jpeg)
    }
    return 0
}

/// With lenient limits there is another outcome only if the strict one says so, and again the same in strips.
private func fuzzLeniently(_ jpeg: Span<UInt8>, strict: Outcome) {
    let lenient = Outcome(of: jpeg, by: lenientDecoder, as: .bgra)
    if case .image = strict, lenient != strict { fatalError("decoded leniently, it is not the same") }
    guard Outcome(of: jpeg, by: lenientStrips) == lenient, Outcome(of: jpeg, by: lenientStrips) == lenient else {
        fatalError("decoded leniently in strips, it is not the same")
    }
    if case .failure(let error) = lenient, error.isDeviation { fatalError("a deviation that is not accepted") }
    guard case .image(let image) = lenient else { return }
    guard let header = try? JPEGHeader(inspecting: jpeg), let size = try? JPEGHeader.size(of: jpeg) else {
        fatalError("decoded leniently, but it has no header")
    }
    guard (header.width, header.height) == (image.width, image.height), size == (image.width, image.height) else {
        fatalError("decoded leniently, it has another size")
    }
    _ = try? JPEGTransform.rotate90.apply(to: jpeg, edges: .trim, limits: lenientDecoder.limits)
}

private enum Outcome: Equatable {
    case image(PixelBuffer)
    case failure(TurboJPEGError)

    init(
        of jpeg: Span<UInt8>,
        by decoder: JPEGDecoder,
        as format: PixelFormat,
        scale: JPEGDecoder.ScalingFactor = .full
    ) {
        do {
            self = .image(try decoder.decode(jpeg, as: format, scale: scale))
        } catch {
            guard !error.message.isEmpty else { fatalError("an error without a sentence") }
            self = .failure(error)
        }
    }

    init(of jpeg: Span<UInt8>, by strips: StripDecoder) {
        do {
            self = .image(try strips.decode(jpeg, as: .bgra).image)
        } catch {
            self = .failure(error)
        }
    }

    static func == (first: Outcome, second: Outcome) -> Bool {
        switch (first, second) {
        case (.image(let first), .image(let second)): first.hasSamePixels(as: second)
        case (.failure(let first), .failure(let second)): first == second
        default: false
        }
    }
}
