/* Tests of JSON, to write and to read. */
#include "format_fixture.h"

#include "io/json.h"

TEST(json__strings_are_escaped) {
    text t = {0};
    json_add_string(&t, "a\"b\\c\nd\te\x01\x7f \xC3\xA9 \xF0\x9F\x98\x80");
    CHECK_TEXT(t.chars, "\"a\\\"b\\\\c\\nd\\u0009e\\u0001\\u007f \xC3\xA9 \xF0\x9F\x98\x80\"");
    text_free(&t);
    json_add_string(&t, "\xC3(\xFF\xED\xA0\x80");
    CHECK_TEXT(t.chars, "\"\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    text_free(&t);
}

TEST(json__numbers_read_back_the_same_with_few_digits) {
    static const struct {
        double number;
        const char *chars;
    } cases[] = {{0.1, "0.1"},
                 {1, "1"},
                 {-0.5, "-0.5"},
                 {-0.0, "-0.0"},
                 {1e300, "1e+300"},
                 {NAN, "null"},
                 {INFINITY, "null"},
                 {1.0 / 3, "0.3333333333333333"},
                 {5e-324, "4.94065645841247e-324"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t = {0};
        json_add_number(&t, cases[i].number);
        CHECK_TEXT(t.chars, cases[i].chars);
        text_free(&t);
    }
    jf_context *ctx = new_context();
    rng random = rng_stream((rng_key){.seed = 2, .purpose = RNG_TEST}, 0);
    for (int i = 0; i < 1000; i++) {
        double number = rng_normal(&random) * exp(100 * rng_normal(&random));
        text t = {0};
        json_t *value = NULL;
        json_add_number(&t, number);
        CHECK_STATUS(json_read(ctx, &value, t.chars, t.length, "n"), JF_OK);
        CHECK(json_number_value(value) == number);
        json_decref(value);
        text_free(&t);
    }
    jf_context_free(ctx);
}

TEST(json__reads_every_kind_of_value) {
    static const char good[] =
        " {\"a\" : [1, -2.5e1, true, false, null, []], \"b\\u00e9\\ud83d\\ude00\": {},\n"
        "\"\":\"x\\n\\\"\\\\\\/\\b\\f\\r\\t\"} \r\n";
    jf_context *ctx = new_context();
    json_t *root = NULL;
    CHECK_STATUS(json_read(ctx, &root, good, sizeof good - 1, "j"), JF_OK);
    CHECK(json_object_size(root) == 3);
    const json_t *list = json_object_get(root, "a");
    CHECK(json_array_size(list) == 6);
    size_t size = 0;
    CHECK(json_whole(json_array_get(list, 0), &size) && size == 1);
    CHECK(json_real_value(json_array_get(list, 1)) == -25 && !json_whole(json_array_get(list, 1), &size));
    CHECK(json_is_true(json_array_get(list, 2)) && json_is_false(json_array_get(list, 3)));
    CHECK(json_is_null(json_array_get(list, 4)) && json_array_size(json_array_get(list, 5)) == 0);
    CHECK(json_is_object(json_object_get(root, "b\xC3\xA9\xF0\x9F\x98\x80")));
    CHECK_TEXT(json_string_value(json_object_get(root, "")), "x\n\"\\/\b\f\r\t");
    CHECK_TEXT(json_words(list), "a list");
    json_decref(root);
    jf_context_free(ctx);
}

static void refuse_json(const char *chars, const char *message) {
    jf_context *ctx = new_context();
    json_t *root = NULL;
    CHECK_STATUS(json_read(ctx, &root, chars, strlen(chars), "j"), JF_ERROR_FORMAT);
    CHECK(root == NULL);
    CHECK_HAS(jf_context_error(ctx), message);
    jf_context_free(ctx);
}

TEST(json__refuses_what_is_not_json) {
    refuse_json("", "j: byte 0: ");
    refuse_json("{\"a\":1", "j: byte 6: '}' expected near end of file; expected JSON");
    refuse_json("[1,]", "j: byte 4: unexpected token near ']'");
    refuse_json("[1 2]", "j: byte 4: ']' expected near '2'");
    refuse_json("{1:2}", "j: byte 2: string or '}' expected near '1'");
    refuse_json("{\"a\" 2}", "j: byte 6: ':' expected near '2'");
    refuse_json("{\"a\":1,\"b\":2,\"a\":3}", "duplicate object key near '\"a\"'");
    refuse_json("1 1", "end of file expected near '1'");
    refuse_json("nul", "invalid token near 'nul'");
    refuse_json("\"a", "premature end of input");
    refuse_json("\"a\nb\"", "unexpected newline");
    refuse_json("\"\xC0\x80\"", "unable to decode byte 0xc0");
    refuse_json("\"\\x\"", "invalid escape");
    refuse_json("\"\\", "invalid escape");
    refuse_json("\"\\u12G4\"", "invalid escape");
    refuse_json("\"\\u0000\"", "\\u0000 is not allowed");
    refuse_json("\"\\ud800x\"", "invalid Unicode");
    refuse_json("\"\\udc00\\ud800\"", "invalid Unicode");
    refuse_json("[18446744073709551616]", "too big integer");
    static const char *const numbers[] = {"01",  "-",     "+1",  ".5",  "1.", "1e",
                                          "1e+", "1e999", "inf", "NaN", "0x1"};
    jf_context *ctx = new_context();
    json_t *root = NULL;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (json_read(ctx, &root, numbers[i], strlen(numbers[i]), "j") != JF_ERROR_FORMAT)
            test_fail(__FILE__, __LINE__, "\"%s\" was read", numbers[i]);
    jf_context_free(ctx);
}

TEST(json__refuses_what_is_too_deep_too_long_or_too_much) {
    jf_context *ctx = new_context();
    json_t *root = NULL;
    size_t size = ((size_t)1 << 24) + 1;
    char *chars = malloc(size);
    memset(chars, '[', size);
    CHECK_STATUS(json_read(ctx, &root, chars, 100000, "j"), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "maximum parsing depth reached");
    CHECK_STATUS(json_read(ctx, &root, chars, size, "j"), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "bytes of JSON; expected at most 16777216");
    CHECK_STATUS(json_read(ctx, &root, chars, size - 1, "j"), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx),
              "values that may take 2415919104 bytes of memory; expected at most 117440512");
    memset(chars, '1', size);
    CHECK_STATUS(json_read(ctx, &root, chars, 1000, "j"), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "too big integer");
    free(chars);
    jf_context_free(ctx);
}

TEST(json__whole_numbers_are_exact_as_far_as_offsets_go) {
    static const char chars[] = "[9007199254740993, 9223372036854775807, -1, 1.0]";
    jf_context *ctx = new_context();
    json_t *root = NULL;
    size_t size = 0;
    CHECK_STATUS(json_read(ctx, &root, chars, sizeof chars - 1, "j"), JF_OK);
    CHECK(json_whole(json_array_get(root, 0), &size) && size == 9007199254740993); /* no double is that */
    CHECK(json_whole(json_array_get(root, 1), &size) && size == INT64_MAX);
    CHECK(!json_whole(json_array_get(root, 2), &size) && !json_whole(json_array_get(root, 3), &size));
    json_decref(root);
    jf_context_free(ctx);
}
