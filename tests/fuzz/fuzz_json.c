/* JSON. What it holds is written again and has to read the same. */
#include "fuzz.h"
#include "io/json.h"
#include <math.h>
#include <string.h>

static void write_again(json_t *value, text *out);

static void write_list(const json_t *list, text *out) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        text_add(out, "%s", i ? "," : "");
        write_again(json_array_get(list, i), out);
    }
}

static void write_object(json_t *object, text *out) {
    size_t count = 0;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        text_add(out, "%s", count++ ? "," : "");
        json_add_string(out, key), text_add(out, ":");
        write_again(value, out);
    }
    FUZZ_EXPECT(count == json_object_size(object));
}

static void write_again(json_t *value, text *out) {
    size_t size;
    json_whole(value, &size);
    FUZZ_EXPECT(*json_words(value));
    switch (json_typeof(value)) {
    case JSON_NULL:
        text_add(out, "null");
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        text_add(out, json_is_true(value) ? "true" : "false");
        break;
    case JSON_INTEGER:
        text_add(out, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_REAL:
        FUZZ_EXPECT(isfinite(json_real_value(value)));
        json_add_number(out, json_real_value(value));
        break;
    case JSON_STRING:
        json_add_string(out, json_string_value(value));
        break;
    case JSON_ARRAY:
        text_add(out, "["), write_list(value, out), text_add(out, "]");
        break;
    case JSON_OBJECT:
        text_add(out, "{"), write_object(value, out), text_add(out, "}");
        break;
    }
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    json_t *first = NULL, *second = NULL;
    text once = {0}, twice = {0};
    JF_TRY(json_read(ctx, &first, (const char *)in->bytes, in->size, "input"));
    write_again(first, &once);
    FUZZ_EXPECT(!once.failed);
    FUZZ_EXPECT(json_read(ctx, &second, once.chars, once.length, "again") == JF_OK);
    write_again(second, &twice);
    FUZZ_EXPECT(!twice.failed && strcmp(once.chars, twice.chars) == 0);
    text_free(&once);
    text_free(&twice);
    json_decref(first);
    json_decref(second);
    return JF_OK;
}

const fuzz_reader fuzz_json = {.name = "json", .file = "input.json", .most_bytes = 2048, .read = read_input};
