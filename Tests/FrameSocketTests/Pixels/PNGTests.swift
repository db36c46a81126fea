import FrameSocket
import PNGReading
import TestDescriptions
import TestSupport
import Testing

/// PNGs of every kind, as the programs of this package read them.
@Suite(.tags(.computes)) struct PNGTests {
    /// Reads a PNG; the pixels' blue, green, red and alpha, row after row.
    private func read(_ png: [UInt8], over background: PNGBackground? = .white) throws -> [[UInt8]] {
        let image = try PixelBuffer(png: png.span, over: background)
        var pixels: [[UInt8]] = []
        for row in 0..<image.height {
            image.withRow(row) { bytes in
                for column in 0..<image.width { pixels.append((0..<4).map { bytes[4 * column + $0] }) }
            }
        }
        return pixels
    }

    // MARK: 16 bits

    /// Chunks that say how samples become colors, and may say nothing.
    enum Color: String, CaseIterable {
        case none, gAMA22, gAMA10, gAMA18, sRGB, cHRM, gAMAandCHRM, iCCP, cICP, sBIT, mDCV

        func chunks(_ kind: HandmadePNG.Kind) -> [[UInt8]] {
            let primaries = [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000].flatMap(HandmadePNG.number)
            func gamma(_ value: Int) -> [UInt8] { HandmadePNG.chunk("gAMA", HandmadePNG.number(value)) }
            switch self {
            case .none: return []
            case .gAMA22: return [gamma(45_455)]
            case .gAMA10: return [gamma(100_000)]
            case .gAMA18: return [gamma(55_556)]
            case .sRGB: return [HandmadePNG.chunk("sRGB", [0])]
            case .cHRM: return [HandmadePNG.chunk("cHRM", primaries)]
            case .gAMAandCHRM: return [gamma(45_455), HandmadePNG.chunk("cHRM", primaries)]
            // Profiles that nobody can read are left out.
            case .iCCP: return [HandmadePNG.chunk("iCCP", [0x61, 0, 0] + HandmadePNG.deflated([1, 2, 3]))]
            case .cICP: return [HandmadePNG.chunk("cICP", [1, 13, 0, 1])]
            case .sBIT: return [HandmadePNG.chunk("sBIT", [UInt8](repeating: 7, count: kind.channels))]
            case .mDCV: return [HandmadePNG.chunk("mDCV", [UInt8](repeating: 1, count: 24))]
            }
        }
    }

    @Test(
        arguments: [HandmadePNG.Kind.gray, .grayAlpha, .rgb, .rgba],
        Color.allCases.flatMap { color in [false, true].map { (color, $0) } }
    )
    func `samples of 16 bits become the colors of their twins of 8 bits`(
        kind: HandmadePNG.Kind,
        form: (color: Color, isInterlaced: Bool)
    ) throws {
        func sample(_ x: Int, _ y: Int, _ channel: Int) -> Int { (x * 17 + y * 5 + channel * 71) % 256 }
        var twin = HandmadePNG(width: 16, height: 16, kind: kind, depth: 8, isInterlaced: form.isInterlaced) {
            sample($0, $1, $2)
        }
        twin.chunks = form.color.chunks(kind)
        var exact = twin
        exact.depth = 16
        exact.sample = { sample($0, $1, $2) * 257 }
        // Less than half a step of 8 bits beside the twin.
        var near = exact
        near.sample = { min(0xFFFF, max(0, sample($0, $1, $2) * 257 + ($0 * 37 + $1) % 250 - 125)) }
        let expected = try read(twin.bytes)
        for (name, png) in [("exact", exact), ("near", near)] {
            // Steps of 8 bits in dark tones of linear light are far apart, and 16 bits lie between them.
            let found = try read(png.bytes)
            let isConverted = [.gAMA10, .gAMA18].contains(form.color)
            for (index, (one, other)) in zip(expected, found).enumerated() {
                let distance = zip(one, other).map { abs(Int($0) - Int($1)) }.max() ?? 0
                let limit = isConverted ? (name == "near" ? 14 : 2) : name == "near" ? 1 : 0
                #expect(distance <= limit, "\(name), pixel \(index): \(one) and \(other)")
            }
        }
    }

    @Test(arguments: [HandmadePNG.Kind.gray, .rgb], [8, 16])
    func `a single transparent color is as in the other depth`(kind: HandmadePNG.Kind, depth: Int) throws {
        let scale = depth == 16 ? 257 : 1
        var png = HandmadePNG(width: 4, height: 1, kind: kind, depth: depth) { x, _, _ in 60 * x * scale }
        let color = [UInt8](repeating: 120, count: kind.channels).flatMap { [depth == 16 ? $0 : 0, $0] }
        png.chunks = [HandmadePNG.chunk("tRNS", color)]
        let black = try read(png.bytes, over: .black)
        #expect(black.map { $0[0] } == [0, 60, 0, 180])
        #expect(try read(png.bytes).map { $0[0] } == [0, 60, 255, 180])
    }

    // MARK: Transparency

    /// A background for every channel to differ.
    private static let odd = PNGBackground(red: 10, green: 200, blue: 90)

    /// A color over another, in the values as they are encoded.
    private func blend(_ own: Int, _ alpha: Int, over behind: UInt8) -> UInt8 {
        let sum = Double(own * alpha + Int(behind) * (255 - alpha))
        return UInt8((sum / 255).rounded())
    }

    @Test(arguments: [HandmadePNG.Kind.grayAlpha, .rgba], [8, 16])
    func `pixels are blended with the background in their encoded values, or keep their alpha without one`(
        kind: HandmadePNG.Kind,
        depth: Int
    ) throws {
        let scale = depth == 16 ? 257 : 1
        func color(_ x: Int, _ channel: Int) -> Int { (x * 3 + channel * 50) % 256 }
        func alpha(_ x: Int, _ y: Int) -> Int { (y * 4 + x / 21) % 256 }
        let png = HandmadePNG(width: 64, height: 64, kind: kind, depth: depth) { x, y, channel in
            (channel == kind.channels - 1 ? alpha(x, y) : color(x, channel)) * scale
        }
        for background in [PNGBackground.white, .black, Self.odd, nil] {
            let behind = background.map { Array($0.channels.reversed()) }
            let expected = (0..<64 * 64).map { index -> [UInt8] in
                let (y, x) = index.quotientAndRemainder(dividingBy: 64)
                let own = (0..<3).map { color(x, kind == .rgba ? 2 - $0 : 0) }
                guard let behind else { return own.map { UInt8($0) } + [UInt8(alpha(x, y))] }
                return zip(own, behind).map { blend($0, alpha(x, y), over: $1) } + [255]
            }
            let found = try read(png.bytes, over: background)
            let wrong = zip(found, expected).enumerated().first { $1.0 != $1.1 }
            #expect(found.count == expected.count && wrong == nil, "\(wrong as Any)")
        }
    }

    @Test(arguments: [1, 2, 4, 8], [false, true])
    func `palettes of every depth are read, with the transparency of their colors`(depth: Int, isInterlaced: Bool)
        throws
    {
        let count = 1 << depth
        var png = HandmadePNG(width: 33, height: 9, kind: .palette, depth: depth, isInterlaced: isInterlaced) {
            x,
            y,
            _ in
            (x + y * 33) % count
        }
        let colors = (0..<count).map { number in [5, 7, 11].map { UInt8(number * $0 % 256) } }
        // The first half is transparent, more and more.
        let half = count / 2
        let alphas = (0..<half).map { number in UInt8(255 - number * 255 / max(1, half - 1)) }
        png.chunks = [HandmadePNG.chunk("PLTE", Array(colors.joined())), HandmadePNG.chunk("tRNS", alphas)]
        for background in [PNGBackground.white, Self.odd] {
            let behind = background.channels
            let expected = (0..<33 * 9).map { index -> [UInt8] in
                let number = index % count
                let alpha = number < alphas.count ? Int(alphas[number]) : 255
                let rgb = (0..<3).map { blend(Int(colors[number][$0]), alpha, over: behind[$0]) }
                return rgb.reversed() + [255]
            }
            #expect(try read(png.bytes, over: background) == expected)
        }
    }

    @Test(arguments: [1, 2, 4, 8, 16], [false, true])
    func `grays of every depth fill the whole range`(depth: Int, isInterlaced: Bool) throws {
        let top = 1 << depth - 1
        let png = HandmadePNG(width: 19, height: 3, kind: .gray, depth: depth, isInterlaced: isInterlaced) { x, y, _ in
            (x + 19 * y) * top / 56
        }
        let found = try read(png.bytes)
        for (index, pixel) in found.enumerated() {
            let value = Double(index * top / 56) / Double(top)
            let expected = UInt8((value * 255).rounded())
            #expect(pixel == [expected, expected, expected, 255])
        }
    }

    @Test(
        arguments: [
            ("white", PNGBackground.white), ("black", .black), ("#0ac85a", odd), ("0AC85A", odd),
            ("", nil), ("#", nil), ("#fff", nil), ("red", nil), ("#12345g", nil), ("#+12345", nil), ("##12345", nil),
            ("#1234567", nil), ("#１２３４５６", nil),
        ] as [(String, PNGBackground?)]
    )
    func `a color is written as white, black or six digits`(text: String, color: PNGBackground?) {
        #expect(PNGBackground(parsing: text) == color)
    }

    // MARK: Files that are wrong

    private var small: HandmadePNG {
        HandmadePNG(width: 9, height: 9, kind: .rgba, depth: 8) { x, y, channel in 20 * x + y + channel }
    }

    @Test func `a file cut off at any byte before its end is an error, and a changed one never traps`() throws {
        let bytes = small.bytes
        // The end marker is not waited for.
        for count in 0..<(bytes.count - 12) {
            #expect(throws: TurboJPEGError.self, "\(count) bytes") { try read(Array(bytes[..<count])) }
        }
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(seed: seed)
        for _ in 0..<500 {
            var changed = bytes
            changed[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            do {
                #expect(try read(changed).count == 81, "SEED=\(seed)")
            } catch {
                #expect(error is TurboJPEGError, "SEED=\(seed): \(error)")
            }
        }
    }

    @Test func `a wrong checksum of the pixels is an error, one of a text is not`() throws {
        var text = HandmadePNG.chunk("tEXt", Array("a\0b".utf8))
        text[text.count - 1] ^= 1
        var png = small
        png.chunks = [text]
        #expect(try read(png.bytes).count == 81)
        var bytes = small.bytes
        bytes[bytes.count - 13] ^= 1
        let error = #expect(throws: TurboJPEGError.self) { try read(bytes) }
        #expect(error?.code == .unsupported && error?.libraryMessage?.contains("CRC") == true)
    }

    @Test(arguments: [(65_500, 65_500), (1_000_000, 1_000_000), (1 << 20, 33), (0, 1), (Int(Int32.max), 1), (-1, 1)])
    func `impossible sides are refused before there is memory for pixels`(width: Int, height: Int) {
        var png = small
        (png.width, png.height) = (width, height)
        let bytes = HandmadePNG.signature + png.header + HandmadePNG.chunk("IDAT", [])
        #expect(throws: TurboJPEGError.self) { try read(bytes) }
    }
}
