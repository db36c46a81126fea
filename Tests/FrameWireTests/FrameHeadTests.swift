import FrameWire
import Testing

@Suite("Frame heads: what is written and what comes back")
struct FrameHeadTests {
    @Test("is written as deployed senders write it")
    func encodesDeployedForm() {
        let head = FrameHead(contentLength: 54_321, bufferSize: BufferSize(width: 562, height: 1_218))
        let text =
            "HTTP/1.1 200 OK\r\nContent-Length: 54321\r\nBuffer-Width: 562\r\nBuffer-Height: 1218\r\nBuffer-Orientation: 1\r\n\r\n"
        #expect(String(decoding: head.encoded(), as: UTF8.self) == text)
    }

    @Test("comes back as it went")
    func roundTrip() throws {
        let head = FrameHead(
            contentLength: 9,
            bufferSize: BufferSize(width: 1, height: 16_384),
            orientation: .left,
            presentationTime: .max,
            sequence: 0
        )
        var decoder = FrameMessageDecoder()
        let bytes = head.encoded()
        let step = try decoder.decode(bytes.span)
        #expect(step == .init(consumed: bytes.count, event: .head(head)))
    }
}
