// Whoever imports FrameSocket has the pixels, the wire and the transport as well: they are its vocabulary.

@_exported public import FrameTransport
@_exported public import FrameWire
@_exported public import TurboJPEG
