/* JSON. What it holds is written again and has to read the same. */
#include "fuzz.h"
#include "io/json.h"
#include <math.h>
#include <string.h>

static void write_again(const json *value, text *out);

static void write_elements(const json *value, text *out, int keys) {
    size_t count = 0;
    for (const json *at = json_first(value); at; at = json_next(at), count++) {
        text_add(out, "%s", count ? "," : "");
        FUZZ_EXPECT(!keys || json_key(at));
        if (keys) json_add_string(out, json_key(at)), text_add(out, ":");
        write_again(at, out);
    }
    FUZZ_EXPECT(count == json_count(value));
}

static void write_again(const json *value, text *out) {
    size_t size;
    json_size(value, &size);
    FUZZ_EXPECT(*json_kind_name(value));
    switch (json_kind(value)) {
    case JSON_NULL:
        text_add(out, "null");
        break;
    case JSON_BOOL:
        text_add(out, json_bool(value) ? "true" : "false");
        break;
    case JSON_NUMBER:
        FUZZ_EXPECT(isfinite(json_number(value)));
        json_add_number(out, json_number(value));
        break;
    case JSON_STRING:
        json_add_string(out, json_string(value));
        break;
    case JSON_LIST:
        text_add(out, "["), write_elements(value, out, 0), text_add(out, "]");
        break;
    case JSON_OBJECT:
        text_add(out, "{"), write_elements(value, out, 1), text_add(out, "}");
        break;
    }
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    json *first = NULL, *second = NULL;
    text once = {0}, twice = {0};
    JF_TRY(json_parse(ctx, &first, (const char *)in->bytes, in->size, "input"));
    write_again(first, &once);
    FUZZ_EXPECT(!once.failed);
    FUZZ_EXPECT(json_parse(ctx, &second, once.chars, once.length, "again") == JF_OK);
    write_again(second, &twice);
    FUZZ_EXPECT(!twice.failed && strcmp(once.chars, twice.chars) == 0);
    text_free(&once);
    text_free(&twice);
    json_free(first);
    json_free(second);
    return JF_OK;
}

const fuzz_reader fuzz_json = {.name = "json", .file = "input.json", .most_bytes = 2048, .read = read_input};
