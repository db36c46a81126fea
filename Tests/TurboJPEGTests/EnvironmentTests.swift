#if os(Linux)
    import Foundation
    import TestSupport
    import TestDescriptions
    import Testing
    import TurboJPEG

    /// libturbojpeg reads variables of the environment, which another part of the process may have set; libjpeg does not.
    @Suite(.tags(.computes)) struct EnvironmentTests {
        private static func set(_ name: String, to value: String) {
            _ = unsafe setenv(name, value, 1)
        }

        /// Encodes two images in strips and compares them with what was encoded as a whole; false if they differ.
        private static func stripsAreRight() throws -> Bool {
            let strips = StripEncoder(height: .mcuRows(1))
            let encoder = JPEGEncoder(quality: 80)
            for seed in [3, 5] {
                let image = try testImage(200, 160 + seed, as: .bgra)
                let joined = try JPEGDecoder().decode(bytes: strips.encode(image, with: encoder).jpeg, as: .bgra)
                let whole = try JPEGDecoder().decode(bytes: encoder.encode(image), as: .bgra)
                guard joined.hasSamePixels(as: whole) else { return false }
            }
            return true
        }

        @Test func `strips are correct if the environment asks for optimized tables`() async {
            await #expect(processExitsWith: .success) {
                Self.set("TJ_OPTIMIZE", to: "1")
                let isRight = try Self.stripsAreRight()
                #expect(isRight)
            }
        }

        @Test func `strips are correct if the environment asks for restart markers`() async {
            await #expect(processExitsWith: .success) {
                Self.set("TJ_RESTART", to: "2B")
                let isRight = try Self.stripsAreRight()
                #expect(isRight)
            }
        }

        /// Strips that were kept have other tables than those that come now.
        @Test func `strips are correct if the environment changes between two images`() async {
            await #expect(processExitsWith: .success) {
                let strips = StripEncoder(height: .mcuRows(1))
                let encoder = JPEGEncoder(quality: 80)
                var image = try testImage(200, 160, as: .bgra)
                _ = try strips.encode(image, with: encoder)
                Self.set("TJ_OPTIMIZE", to: "1")
                try image.withMutableRow(5) { $0[9] ^= 0xFF }
                let joined = try JPEGDecoder().decode(bytes: strips.encode(image, with: encoder).jpeg, as: .bgra)
                let whole = try JPEGDecoder().decode(bytes: encoder.encode(image), as: .bgra)
                #expect(joined.hasSamePixels(as: whole))
            }
        }

        @Test func `a JPEG that is progressive because of the environment is an error that names the variable`() async {
            await #expect(processExitsWith: .success) {
                Self.set("TJ_PROGRESSIVE", to: "1")
                let image = try testImage(64, 48, as: .bgra)
                let error = #expect(throws: TurboJPEGError.self) { _ = try JPEGEncoder().encode(image) }
                #expect(error?.code == .encodeFailed && error?.message.contains("TJ_PROGRESSIVE") == true)
            }
        }

        @Test(arguments: ["TJ_OPTIMIZE", "TJ_PROGRESSIVE", "TJ_ARITHMETIC", "TJ_RESTART"])
        func `strips do not depend on the environment`(variable: String) async {
            await #expect(processExitsWith: .success) { [variable] in
                let image = try testImage(200, 160, as: .bgra)
                let jpeg = try StripEncoder().encode(image, with: JPEGEncoder()).jpeg
                Self.set(variable, to: "1")
                #expect(try StripEncoder().encode(image, with: JPEGEncoder()).jpeg == jpeg)
            }
        }
    }
#endif
