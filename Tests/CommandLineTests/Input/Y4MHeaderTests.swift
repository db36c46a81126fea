import Testing

@testable import FrameSocketTool

/// What the first line of a Y4M stream says about the subsampling.
@Suite struct Y4MHeaderTests {
    @Test(arguments: [
        "", "C420", "C420jpeg XYSCSS=420JPEG", "XYSCSS=420JPEG", "XYSCSS=420MPEG2", "XYSCSS=420PALDV",
        // The mjpegtools' own field comes first.
        "C420jpeg XYSCSS=444", "XYSCSS=422 C420",
    ])
    func `4 to 2 to 0 is read in either field`(fields: String) throws {
        let header = try Y4MHeader(parsing: "W32 H24 F5:1 \(fields)")
        #expect(!header.isMono)
    }

    @Test(arguments: [
        "C422", "Cmono12", "XYSCSS=411", "XYSCSS=422", "XYSCSS=444", "XYSCSS=420P10", "C422 XYSCSS=420JPEG",
    ])
    func `any other is refused in either field`(fields: String) {
        let error = #expect(throws: CommandFailure.self) { try Y4MHeader(parsing: "W32 H24 F5:1 \(fields)") }
        #expect(error?.code == .badData && error?.message.contains("-pix_fmt yuv420p") == true)
    }
}
