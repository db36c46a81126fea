// Written by Fixtures/generator/embedding.py from the JSON beside the streams.

extension RecordedStream {
    /// Every stream, by name.
    public static let all: [RecordedStream] = [
        cutInBody,
        cutInHeader,
        getstreamQuality70,
        headerInsideBody,
        jitsi562On563,
        namesAndUnknownFields,
        orderCurrent,
        orderOlder,
        orientations,
        smallFrames,
        zeroPadded,
    ]

    /// Two whole frames, then one cut off in its body.
    public static let cutInBody = RecordedStream(
        name: "cut-in-body",
        summary: "Two whole frames, then one cut off in its body.",
        frames: [
            Frame(120, 81, 1, 0, 103, 14910, 120, 81),
            Frame(120, 81, 1, 15013, 15116, 14925, 120, 81),
        ],
        cut: Cut(in: .body, after: 7001, of: 14910)
    )

    /// Two whole frames, then one cut off in its header.
    public static let cutInHeader = RecordedStream(
        name: "cut-in-head",
        summary: "Two whole frames, then one cut off in its header.",
        frames: [
            Frame(120, 81, 1, 0, 103, 14910, 120, 81),
            Frame(120, 81, 1, 15013, 15116, 14925, 120, 81),
        ],
        cut: Cut(in: .header, after: 57)
    )

    /// GetStream: quality 70, 4:2:0.
    public static let getstreamQuality70 = RecordedStream(
        name: "getstream-quality-70",
        summary: "GetStream: quality 70, 4:2:0.",
        frames: [
            Frame(374, 812, 1, 0, 104, 36690, 374, 812),
            Frame(374, 812, 1, 36794, 36898, 37447, 374, 812),
            Frame(374, 812, 1, 74345, 74449, 36488, 374, 812),
        ],
        cut: nil
    )

    /// A body whose comment segment looks like a whole message, between two plain frames.
    public static let headerInsideBody = RecordedStream(
        name: "head-inside-body",
        summary: "A body whose comment segment looks like a whole message, between two plain frames.",
        frames: [
            Frame(120, 81, 1, 0, 103, 14910, 120, 81),
            Frame(120, 81, 1, 15013, 15116, 15232, 120, 81),
            Frame(120, 81, 1, 30348, 30451, 14910, 120, 81),
        ],
        cut: nil
    )

    /// Jitsi: a header of 562 x 1218 on a JPEG of 563 x 1219, quality 100, 4:4:4.
    public static let jitsi562On563 = RecordedStream(
        name: "jitsi-562-on-563",
        summary: "Jitsi: a header of 562 x 1218 on a JPEG of 563 x 1219, quality 100, 4:4:4.",
        frames: [Frame(562, 1218, 1, 0, 106, 321691, 563, 1219)],
        cut: nil
    )

    /// Field names in lower and upper case, unknown fields in between, white space around values.
    public static let namesAndUnknownFields = RecordedStream(
        name: "names-and-unknown-fields",
        summary: "Field names in lower and upper case, unknown fields in between, white space around values.",
        frames: [
            Frame(120, 81, 1, 0, 103, 14910, 120, 81),
            Frame(120, 81, 1, 15013, 15116, 14910, 120, 81),
            Frame(120, 81, 1, 30026, 30213, 14910, 120, 81),
            Frame(120, 81, 1, 45123, 45238, 14910, 120, 81),
        ],
        cut: nil
    )

    /// The header order of current CFNetwork.
    public static let orderCurrent = RecordedStream(
        name: "order-current",
        summary: "The header order of current CFNetwork.",
        frames: [
            Frame(120, 81, 1, 0, 103, 14910, 120, 81),
            Frame(120, 81, 1, 15013, 15116, 14925, 120, 81),
        ],
        cut: nil
    )

    /// The header order of older CFNetwork.
    public static let orderOlder = RecordedStream(
        name: "order-older",
        summary: "The header order of older CFNetwork.",
        frames: [
            Frame(120, 81, 1, 0, 103, 14910, 120, 81),
            Frame(120, 81, 1, 15013, 15116, 14925, 120, 81),
        ],
        cut: nil
    )

    /// Orientations 0 (unknown) to 8.
    ///
    /// Rotated upright as docs/wire-format.md says, all show the same image.
    public static let orientations = RecordedStream(
        name: "orientations",
        summary: "Orientations 0 (unknown) to 8. Rotated upright as docs/wire-format.md says, all show the same image.",
        frames: [
            Frame(144, 96, 0, 0, 102, 6833, 144, 96),
            Frame(144, 96, 1, 6935, 7037, 6833, 144, 96),
            Frame(144, 96, 2, 13870, 13972, 6842, 144, 96),
            Frame(144, 96, 3, 20814, 20916, 6838, 144, 96),
            Frame(144, 96, 4, 27754, 27856, 6832, 144, 96),
            Frame(96, 144, 5, 34688, 34790, 6707, 96, 144),
            Frame(96, 144, 6, 41497, 41599, 6719, 96, 144),
            Frame(96, 144, 7, 48318, 48420, 6712, 96, 144),
            Frame(96, 144, 8, 55132, 55234, 6712, 96, 144),
        ],
        cut: nil
    )

    /// Forty frames of less than 10,240 bytes, back to back.
    public static let smallFrames = RecordedStream(
        name: "small-frames",
        summary: "Forty frames of less than 10,240 bytes, back to back.",
        frames: [
            Frame(188, 188, 1, 0, 103, 8437, 188, 188),
            Frame(12, 12, 1, 8540, 8640, 203, 12, 12),
            Frame(183, 181, 1, 8843, 8946, 9395, 183, 181),
            Frame(16, 15, 1, 18341, 18441, 243, 16, 15),
            Frame(178, 177, 1, 18684, 18787, 8957, 178, 177),
            Frame(21, 19, 1, 27744, 27844, 288, 21, 19),
            Frame(174, 174, 1, 28132, 28235, 7090, 174, 174),
            Frame(25, 25, 1, 35325, 35425, 356, 25, 25),
            Frame(169, 167, 1, 35781, 35884, 6909, 169, 167),
            Frame(30, 29, 1, 42793, 42893, 270, 30, 29),
            Frame(165, 164, 1, 43163, 43266, 7773, 165, 164),
            Frame(34, 32, 1, 51039, 51139, 252, 34, 32),
            Frame(160, 160, 1, 51391, 51494, 6761, 160, 160),
            Frame(39, 39, 1, 58255, 58355, 704, 39, 39),
            Frame(156, 154, 1, 59059, 59162, 6100, 156, 154),
            Frame(43, 42, 1, 65262, 65362, 847, 43, 42),
            Frame(151, 150, 1, 66209, 66312, 3784, 151, 150),
            Frame(48, 46, 1, 70096, 70196, 901, 48, 46),
            Frame(147, 147, 1, 71097, 71200, 5903, 147, 147),
            Frame(52, 52, 1, 77103, 77203, 870, 52, 52),
            Frame(142, 140, 1, 78073, 78176, 5857, 142, 140),
            Frame(57, 56, 1, 84033, 84133, 642, 57, 56),
            Frame(138, 137, 1, 84775, 84878, 5776, 138, 137),
            Frame(61, 59, 1, 90654, 90755, 1339, 61, 59),
            Frame(133, 133, 1, 92094, 92197, 4280, 133, 133),
            Frame(66, 66, 1, 96477, 96578, 1692, 66, 66),
            Frame(129, 127, 1, 98270, 98373, 2537, 129, 127),
            Frame(70, 69, 1, 100910, 101011, 1665, 70, 69),
            Frame(124, 123, 1, 102676, 102779, 3996, 124, 123),
            Frame(75, 73, 1, 106775, 106876, 1047, 75, 73),
            Frame(120, 120, 1, 107923, 108026, 4346, 120, 120),
            Frame(79, 79, 1, 112372, 112473, 1716, 79, 79),
            Frame(115, 113, 1, 114189, 114292, 3791, 115, 113),
            Frame(84, 83, 1, 118083, 118184, 2590, 84, 83),
            Frame(111, 110, 1, 120774, 120877, 3568, 111, 110),
            Frame(88, 86, 1, 124445, 124546, 2410, 88, 86),
            Frame(106, 106, 1, 126956, 127059, 2456, 106, 106),
            Frame(93, 93, 1, 129515, 129616, 2004, 93, 93),
            Frame(102, 100, 1, 131620, 131723, 2430, 102, 100),
            Frame(97, 96, 1, 134153, 134254, 2407, 97, 96),
        ],
        cut: nil
    )

    /// Bodies padded with zero bytes after EOI to 10,240 bytes, counted in Content-Length.
    public static let zeroPadded = RecordedStream(
        name: "zero-padded",
        summary: "Bodies padded with zero bytes after EOI to 10,240 bytes, counted in Content-Length.",
        frames: [
            Frame(188, 188, 1, 0, 104, 10240, 188, 188),
            Frame(12, 12, 1, 10344, 10446, 10240, 12, 12),
            Frame(183, 181, 1, 20686, 20790, 10240, 183, 181),
        ],
        cut: nil
    )
}
