extension PeerMessage {
    /// Returns the announcement of a shared buffer.
    ///
    /// Pass the descriptor with the message's first byte: see ``PeerSocket/write(_:passing:)``.
    public static func sharedBuffer(_ index: Int, byteCount: Int) -> PeerMessage {
        let fields = [
            (name: "Message-Type", value: "shared-buffer"), (name: "Shared-Buffer", value: "\(index)"),
            (name: "Shared-Bytes", value: "\(byteCount)"),
        ]
        return PeerMessage(startLine: "HTTP/1.1 200 OK", fields: fields)
    }

    /// Returns a frame in a shared buffer, with the offset and the bytes per row of each plane.
    public static func sharedFrame(
        in buffer: Int,
        format: String,
        width: Int,
        height: Int,
        planes: [(offset: Int, bytesPerRow: Int)],
        orientation: Int = 1,
        timestamp: UInt64? = nil,
        sequence: UInt64? = nil
    ) -> PeerMessage {
        var fields = [
            (name: "Message-Type", value: "shared-frame"), (name: "Shared-Buffer", value: "\(buffer)"),
            (name: "Buffer-Width", value: "\(width)"), (name: "Buffer-Height", value: "\(height)"),
            (name: "Buffer-Orientation", value: "\(orientation)"), (name: "Shared-Format", value: format),
        ]
        for (index, plane) in planes.enumerated() {
            let suffix = index == 0 ? "" : "-\(index + 1)"
            fields.append((name: "Shared-Offset\(suffix)", value: "\(plane.offset)"))
            fields.append((name: "Shared-Stride\(suffix)", value: "\(plane.bytesPerRow)"))
        }
        if let timestamp { fields.append((name: "Buffer-Presentation-Time", value: "\(timestamp)")) }
        if let sequence { fields.append((name: "Buffer-Sequence", value: "\(sequence)")) }
        return PeerMessage(startLine: "HTTP/1.1 200 OK", fields: fields)
    }
}
