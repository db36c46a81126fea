#if os(Linux)
    import Foundation
    import TestDescriptions
    import TestSupport
    import Testing
    import TurboJPEG

    /// libturbojpeg reads variables of the environment, which another part of the process may have set; libjpeg does not.
    @Suite(.tags(.computes)) struct EnvironmentTests {
        @Test(arguments: ["TJ_OPTIMIZE", "TJ_PROGRESSIVE", "TJ_ARITHMETIC", "TJ_RESTART"])
        func `JPEGs do not depend on the environment`(variable: String) async {
            await #expect(processExitsWith: .success) { [variable] in
                let image = try testImage(200, 160, as: .bgra)
                let planes = try testImage(200, 160, as: .i420)
                func jpegs() throws -> [[UInt8]] {
                    let encoder = JPEGEncoder()
                    let strips = try StripEncoder().encode(image, with: encoder).jpeg
                    return try [encoder.encode(image), encoder.encode(planes), strips]
                }
                let before = try jpegs()
                _ = unsafe setenv(variable, "1", 1)
                #expect(try jpegs() == before)
            }
        }
    }
#endif
