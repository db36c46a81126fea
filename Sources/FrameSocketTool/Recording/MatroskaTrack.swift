/// A track of a Matroska file, as far as its entry has been read.
struct MatroskaTrack {
    var number: UInt64 = 0
    var codec = ""
    /// What belongs to the codec, and may be compressed itself.
    var codecPrivate: [UInt8] = []
    /// Nanoseconds from one frame to the next; 0 if they vary.
    var frameDuration: UInt64 = 0
    /// What was done to each frame, in the order in which the file lists it.
    var encodings: [MatroskaEncoding] = []

    /// Whether its frames are JPEGs.
    var isMotionJPEG: Bool {
        switch codec {
        case "V_MJPEG": true
        // Video for Windows or QuickTime within Matroska, as older programs write it.
        case "V_MS/VFW/FOURCC", "V_QUICKTIME": fourCC.map { Self.fourCCs.contains($0.uppercased()) } ?? false
        default: false
        }
    }

    /// The codec, for a person.
    var description: String { fourCC.map { "\(codec) with \($0)" } ?? codec }

    /// The codes under which programs store whole JPEGs, in capitals, according to FFmpeg's tables for AVI and QuickTime (libavformat's
    /// riff.c, isom_tags.c).
    ///
    /// Without those of lossless JPEG, which libjpeg cannot read, and AVRn, whose frames are two fields.
    private static let fourCCs: Set = [
        "MJPG", "MSC2", "DMB1", "MJPA", "JR24", "JPEG", "IJPG", "ACDV", "QIVG", "SLMJ", "CJPG", "IJLV", "MVJP", "AVI1",
        "AVI2", "MTSJ", "ZJPG", "MMJP", "AVDJ",
    ]

    /// The code of the codec in what belongs to it: of a BITMAPINFOHEADER, or a QuickTime image description.
    private var fourCC: String? {
        let offset = codec == "V_MS/VFW/FOURCC" ? 16 : codec == "V_QUICKTIME" ? 4 : nil
        guard let offset, let bytes = decodedPrivate, bytes.count >= offset + 4 else { return nil }
        let code = bytes[offset..<offset + 4]
        guard code.allSatisfy({ 0x20...0x7E ~= $0 }) else { return nil }
        return String(decoding: code, as: UTF8.self)
    }

    private var decodedPrivate: [UInt8]? { decode(codecPrivate, \.coversPrivate) }

    /// What none of the encodings can be undone for; nil if frames can be read.
    var obstacle: String? { encodings.lazy.compactMap(\.obstacle).first }

    /// A frame as it was before it was encoded for the file; nil if it is damaged.
    func frame(_ bytes: [UInt8]) -> [UInt8]? { decode(bytes, \.coversFrames) }

    /// Undoes the encodings, the last one first.
    private func decode(_ bytes: [UInt8], _ covers: (MatroskaEncoding) -> Bool) -> [UInt8]? {
        encodings.filter(covers).sorted { $0.order > $1.order }.reduce(bytes) { bytes, encoding in
            bytes.flatMap { encoding.decode($0) }
        }
    }
}
