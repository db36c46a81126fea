"""Writes the C file that embeds the bytes of the streams for FrameSocketTesting."""

SOURCES = "../Sources"


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


def write(fixtures):
    names = [path.stem for path in sorted((fixtures / "streams").glob("*.http"))]
    (fixtures / SOURCES / "CRecordedStreams/streams.c").write_text(embedding(names))
