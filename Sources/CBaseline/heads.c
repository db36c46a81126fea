#include "baseline_heads.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIELDS = 4 };

static const struct {
    const char *name;
    size_t length;
} fields[FIELDS] = {
    {"Content-Length", 14},
    {"Buffer-Width", 12},
    {"Buffer-Height", 13},
    {"Buffer-Orientation", 18},
};

static bool has_all(const int64_t values[FIELDS]) {
    for (int i = 0; i < FIELDS; i++) {
        if (values[i] < 0) return false;
    }
    return true;
}

int64_t baseline_parse_head(const uint8_t *bytes, size_t count) {
    int64_t values[FIELDS] = {-1, -1, -1, -1};
    const char *line = (const char *)bytes, *end = line + count;
    while (line < end) {
        const char *feed = memchr(line, '\n', (size_t)(end - line));
        if (feed == NULL) return -1;
        if (feed - line == 1) break;
        const char *colon = memchr(line, ':', (size_t)(feed - line));
        for (int i = 0; colon != NULL && i < FIELDS; i++) {
            if ((size_t)(colon - line) == fields[i].length && strncasecmp(line, fields[i].name, fields[i].length) == 0) {
                values[i] = strtoll(colon + 1, NULL, 10);
            }
        }
        line = feed + 1;
    }
    return has_all(values) ? values[0] : -1;
}

static bool is_token(char character) {
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z')
        || (character >= '0' && character <= '9') || (character != 0 && strchr("!#$%&'*+-.^_`|~", character) != NULL);
}

/// Reads the digits of a value, with blanks around them, up to CR and LF. Returns where the next line begins, or NULL.
static const char *read_number(const char *at, const char *end, int64_t *number) {
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    const char *first = at;
    int64_t value = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *at - '0', &value)) return NULL;
    }
    if (at == first) return NULL;
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    if (end - at < 2 || at[0] != '\r' || at[1] != '\n') return NULL;
    *number = value;
    return at + 2;
}

/// Checks the characters of a value that is not asked for. Returns where the next line begins, or NULL.
static const char *skip_value(const char *at, const char *end) {
    while (at < end && ((unsigned char)*at >= ' ' || *at == '\t') && *at != 127) at++;
    return end - at < 2 || at[0] != '\r' || at[1] != '\n' ? NULL : at + 2;
}

int64_t baseline_parse_head_strictly(const uint8_t *bytes, size_t count) {
    static const char status[] = "HTTP/1.1 200 OK\r\n";
    int64_t values[FIELDS] = {-1, -1, -1, -1};
    const char *at = (const char *)bytes, *end = at + count;
    if (count < sizeof status - 1 || memcmp(at, status, sizeof status - 1) != 0) return -1;
    at += sizeof status - 1;
    while (end - at >= 2 && !(at[0] == '\r' && at[1] == '\n')) {
        const char *name = at;
        while (at < end && is_token(*at)) at++;
        size_t length = (size_t)(at - name);
        if (length == 0 || at == end || *at++ != ':') return -1;
        int field = 0;
        while (field < FIELDS && !(length == fields[field].length && strncasecmp(name, fields[field].name, length) == 0)) {
            field++;
        }
        if (field < FIELDS && values[field] >= 0) return -1;
        at = field < FIELDS ? read_number(at, end, &values[field]) : skip_value(at, end);
        if (at == NULL) return -1;
    }
    return end - at >= 2 && has_all(values) ? values[0] : -1;
}
