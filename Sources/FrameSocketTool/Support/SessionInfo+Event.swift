import FrameSocket

extension ControlRequest.SessionInfo {
    /// The event of what the other side states about itself; without a connection for a sender, which has one.
    func event(of connection: Int? = nil) -> JSONLine {
        var line = JSONLine(event: "info")
        if let connection { line.add("connection", connection) }
        var texts = JSONLine()
        for (key, value) in sorted { texts.add(key, value) }
        line.add("values", texts)
        if let size {
            line.add("width", size.width)
            line.add("height", size.height)
        }
        if let frameRate { line.add("framesPerSecond", frameRate, digits: 3) }
        if let offersAudio { line.add("audio", offersAudio) }
        return line
    }

    /// The same for a person.
    var list: String {
        var parts = sorted.map { "\($0.key)=\(JSONLine.quoted($0.value))" }
        if let size { parts.append("\(size.width)x\(size.height)") }
        if let frameRate { parts.append("at most \(Format.decimal(frameRate, digits: 3)) frames/s") }
        if let offersAudio { parts.append(offersAudio ? "audio" : "no audio") }
        return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
    }

    private var sorted: [(key: String, value: String)] { values.sorted { $0.key < $1.key } }
}
