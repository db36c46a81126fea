// Importing FrameSocket also imports the pixels, the wire and the transport: its API uses their types.

@_exported public import FrameTransport
@_exported public import FrameWire
@_exported public import TurboJPEG
