"""Writes what FrameSocketTesting knows of the streams: the C file that embeds their bytes, and a table of their frames."""

import json
import re

SOURCES = "../Sources"
# What the table has of each frame, in the order of RecordedStream.Frame's initializer.
NUMBERS = ["width", "height", "orientation", "headOffset", "bodyOffset", "contentLength", "jpegWidth", "jpegHeight"]


def embedding(names):
    """The C file: the bytes stay in Fixtures, and the compiler reads them from there."""
    lines = [
        "// Written by Fixtures/generator/embedding.py: the bytes of the streams in Fixtures, without a copy of them in the sources.",
        "",
        '#include "CRecordedStreams.h"',
        "",
        "#include <string.h>",
        "",
        "#ifndef __has_embed",
        '#error "clang 19 or later is needed, for #embed"',
        "#endif",
        "",
        "// Every clang that has it has it for C before C23 too, and warns.",
        '#pragma clang diagnostic ignored "-Wc23-extensions"',
    ]
    for name in names:
        lines += [
            "",
            f"static const uint8_t {name.replace('-', '_')}[] = {{",
            f'#embed "../../Fixtures/streams/{name}.http"',
            "};",
        ]
    lines += [
        "",
        "static const struct {",
        "    const char *name;",
        "    struct recorded_bytes bytes;",
        "} streams[] = {",
    ]
    for name in names:
        array = name.replace("-", "_")
        lines.append(f'    {{"{name}", {{{array}, sizeof {array}}}}},')
    lines += [
        "};",
        "",
        "struct recorded_bytes recorded_stream(const char *name) {",
        "    for (size_t index = 0; index < sizeof streams / sizeof *streams; index++) {",
        "        if (strcmp(streams[index].name, name) == 0) return streams[index].bytes;",
        "    }",
        "    return (struct recorded_bytes){NULL, 0};",
        "}",
        "",
    ]
    return "\n".join(lines)


def camel(name):
    return re.sub(r"-(\w)", lambda match: match[1].upper(), name)


def table(streams):
    """The Swift file: every stream with its frames."""
    lines = [
        "// Written by Fixtures/generator/embedding.py from the JSON beside the streams.",
        "",
        "extension RecordedStream {",
        "    /// Every stream, by name.",
        "    public static let all: [RecordedStream] = [",
    ]
    lines += [f"        {camel(name)}," for name in streams]
    lines += ["    ]"]
    for name, stream in streams.items():
        first, *rest = stream["description"].split(". ", 1)
        lines += ["", f"    /// {first}{'.' if rest else ''}"]
        lines += [line for sentence in rest for line in ["    ///", f"    /// {sentence}"]]
        lines += [f"    public static let {camel(name)} = RecordedStream("]
        lines += [f'        name: "{name}",', f'        summary: "{stream["description"]}",']
        frames = [f"Frame({', '.join(str(frame[key]) for key in NUMBERS)})" for frame in stream["frames"]]
        # As swift-format has it.
        if len(frames) == 1:
            lines.append(f"        frames: [{frames[0]}],")
        else:
            lines += ["        frames: [", *(f"            {frame}," for frame in frames), "        ],"]
        error = stream["error"]
        cut = "nil"
        if error:
            part = {"head": "header", "body": "body"}[error["where"]]
            whole = f", of: {error['want']}" if "want" in error else ""
            cut = f"Cut(in: .{part}, after: {error['got']}{whole})"
        lines += [f"        cut: {cut}", "    )"]
    lines += ["}", ""]
    return "\n".join(lines)


def write(fixtures):
    streams = {path.stem: json.loads(path.read_text()) for path in sorted((fixtures / "streams").glob("*.json"))}
    sources = fixtures / SOURCES
    (sources / "CRecordedStreams/streams.c").write_text(embedding(streams))
    (sources / "FrameSocketTesting/RecordedStream+All.swift").write_text(table(streams))
