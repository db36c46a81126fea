import FrameWire

// A message as it stands on the wire, taken apart again.
let message =
    FrameHeader(
        contentLength: 10,
        info: FrameInfo(bufferSize: BufferSize(width: 562, height: 1218), orientation: .right)
    ).encoded()
    + [UInt8](0..<10)

var decoder = FrameMessageDecoder()
var offset = 0
while offset < message.count {
    let step = try decoder.decode(message.span.extracting(offset...))
    offset += step.consumed
    switch step.event {
    case .incomplete: print("not yet a header")
    case .message(.frame(let header)):
        print("header of \(header.bufferSize.width)x\(header.bufferSize.height), \(header.orientation)")
    case .message: print("no frame")
    case .body(let isLast): print("body of \(step.consumed) bytes, \(isLast ? "whole" : "to be continued")")
    }
}
try decoder.finish()
