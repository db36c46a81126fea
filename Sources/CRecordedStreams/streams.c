// Written by Fixtures/generator/embedding.py: the bytes of the streams in Fixtures, without a copy of them in the sources.

#include "CRecordedStreams.h"

#include <string.h>

#ifndef __has_embed
#error "clang 19 or later is needed, for #embed"
#endif

// Every clang that has it has it for C before C23 too, and warns.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t cut_in_body[] = {
#embed "../../Fixtures/streams/cut-in-body.http"
};

static const uint8_t cut_in_head[] = {
#embed "../../Fixtures/streams/cut-in-head.http"
};

static const uint8_t getstream_quality_70[] = {
#embed "../../Fixtures/streams/getstream-quality-70.http"
};

static const uint8_t head_inside_body[] = {
#embed "../../Fixtures/streams/head-inside-body.http"
};

static const uint8_t jitsi_562_on_563[] = {
#embed "../../Fixtures/streams/jitsi-562-on-563.http"
};

static const uint8_t names_and_unknown_fields[] = {
#embed "../../Fixtures/streams/names-and-unknown-fields.http"
};

static const uint8_t order_current[] = {
#embed "../../Fixtures/streams/order-current.http"
};

static const uint8_t order_older[] = {
#embed "../../Fixtures/streams/order-older.http"
};

static const uint8_t orientations[] = {
#embed "../../Fixtures/streams/orientations.http"
};

static const uint8_t small_frames[] = {
#embed "../../Fixtures/streams/small-frames.http"
};

static const uint8_t zero_padded[] = {
#embed "../../Fixtures/streams/zero-padded.http"
};

static const struct {
    const char *name;
    struct recorded_bytes bytes;
} streams[] = {
    {"cut-in-body", {cut_in_body, sizeof cut_in_body}},
    {"cut-in-head", {cut_in_head, sizeof cut_in_head}},
    {"getstream-quality-70", {getstream_quality_70, sizeof getstream_quality_70}},
    {"head-inside-body", {head_inside_body, sizeof head_inside_body}},
    {"jitsi-562-on-563", {jitsi_562_on_563, sizeof jitsi_562_on_563}},
    {"names-and-unknown-fields", {names_and_unknown_fields, sizeof names_and_unknown_fields}},
    {"order-current", {order_current, sizeof order_current}},
    {"order-older", {order_older, sizeof order_older}},
    {"orientations", {orientations, sizeof orientations}},
    {"small-frames", {small_frames, sizeof small_frames}},
    {"zero-padded", {zero_padded, sizeof zero_padded}},
};

struct recorded_bytes recorded_stream(const char *name) {
    for (size_t index = 0; index < sizeof streams / sizeof *streams; index++) {
        if (strcmp(streams[index].name, name) == 0) return streams[index].bytes;
    }
    return (struct recorded_bytes){NULL, 0};
}
