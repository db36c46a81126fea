// Bytes that should be a token: only the token is right, however it is cut, and no byte behind it is taken.

import FrameTransport
import FuzzSupport

private let token = Array("a token, and it is a secret".utf8)

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTokens(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
    for distance in [UInt64(0), 1, 8] {
        var cuts = distance == 0 ? Cuts() : Cuts(seed: UInt64(count), meanDistance: distance)
        var reader = TokenReader(expecting: token)
        var index = 0
        while index < count, reader.remaining > 0 {
            let end = min(cuts.end(behind: index, of: count), index + reader.remaining)
            reader.take(unsafe Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[index..<end])))
            index = end
        }
        guard index == min(count, token.count) else { fatalError("it has not taken what is the token's") }
        let isToken = unsafe bytes.starts(with: token)
        guard reader.isRight == isToken else { fatalError("it says that a token is what it is not") }
        // What follows is somebody else's.
        reader.take(unsafe Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[index...])))
        guard reader.isRight == isToken else { fatalError("it has taken more than the token") }
    }
    return 0
}
