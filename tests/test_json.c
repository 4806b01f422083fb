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
        json *value = NULL;
        json_add_number(&t, number);
        CHECK_STATUS(json_parse(ctx, &value, t.chars, t.length, "n"), JF_OK);
        CHECK(json_number(value) == number);
        json_free(value);
        text_free(&t);
    }
    jf_context_free(ctx);
}

TEST(json__reads_every_kind_of_value) {
    static const char good[] =
        " {\"a\" : [1, -2.5e1, true, false, null, []], \"b\\u00e9\\ud83d\\ude00\": {},\n"
        "\"\":\"x\\n\\\"\\\\\\/\\b\\f\\r\\t\"} \r\n";
    jf_context *ctx = new_context();
    json *root = NULL;
    CHECK_STATUS(json_parse(ctx, &root, good, sizeof good - 1, "j"), JF_OK);
    CHECK(json_kind(root) == JSON_OBJECT && json_count(root) == 3);
    const json *list = json_find(root, "a"), *e = json_first(list);
    CHECK(json_kind(list) == JSON_LIST && json_count(list) == 6);
    size_t size = 0;
    CHECK(json_size(e, &size) && size == 1 && json_key(e) == NULL);
    e = json_next(e);
    CHECK(json_number(e) == -25 && !json_size(e, &size) && json_string(e) == NULL);
    e = json_next(e);
    CHECK(json_bool(e) && !json_bool(json_next(e)) && isnan(json_number(e)));
    e = json_next(json_next(e));
    CHECK(json_kind(e) == JSON_NULL && json_first(json_next(e)) == NULL && json_next(json_next(e)) == NULL);
    CHECK(json_kind(json_find(root, "b\xC3\xA9\xF0\x9F\x98\x80")) == JSON_OBJECT);
    CHECK_TEXT(json_string(json_find(root, "")), "x\n\"\\/\b\f\r\t");
    CHECK(json_find(root, "c") == NULL && json_find(list, "a") == NULL);
    CHECK_TEXT(json_kind_name(list), "a list");
    json_free(root);
    jf_context_free(ctx);
}

static void refuse_json(const char *chars, const char *message) {
    jf_context *ctx = new_context();
    json *root = NULL;
    CHECK_STATUS(json_parse(ctx, &root, chars, strlen(chars), "j"), JF_ERROR_FORMAT);
    CHECK(root == NULL);
    CHECK_TEXT(jf_context_error(ctx), message);
    jf_context_free(ctx);
}

TEST(json__refuses_what_is_not_json) {
    refuse_json("", "j: ends too early; expected a value");
    refuse_json("{\"a\":1", "j: ends too early; expected ',' or '}'");
    refuse_json("[1,]", "j: byte 3: found ']', expected a value");
    refuse_json("[1 2]", "j: byte 3: found '2', expected ',' or ']'");
    refuse_json("{1:2}", "j: byte 1: found '1', expected a string");
    refuse_json("{\"a\" 2}", "j: byte 5: found '2', expected ':'");
    refuse_json("{\"a\":1,\"b\":2,\"a\":3}", "j: key \"a\" comes twice");
    refuse_json("1 1", "j: byte 2: found '1', expected nothing after the value");
    refuse_json("nul", "j: byte 0: found 'n', expected a value");
    refuse_json("\"a", "j: ends too early; expected the end of a string");
    refuse_json("\"a\nb\"", "j: byte 2: found code 10, expected text in UTF-8");
    refuse_json("\"\xC0\x80\"", "j: byte 1: found code 192, expected text in UTF-8");
    refuse_json("\"\\x\"", "j: byte 1: found '\\', expected one of the escape sequences of JSON");
    refuse_json("\"\\", "j: ends too early; expected an escape sequence");
    refuse_json("\"\\u12G4\"", "j: byte 1: found '\\', expected \\uXXXX other than \\u0000");
    refuse_json("\"\\u0000\"", "j: byte 1: found '\\', expected \\uXXXX other than \\u0000");
    refuse_json("\"\\ud800x\"", "j: byte 1: found '\\', expected a pair of surrogates");
    refuse_json("\"\\udc00\\ud800\"", "j: byte 1: found '\\', expected a pair of surrogates");
    static const char *const numbers[] = {"01",  "-",     "+1",  ".5",  "1.", "1e",
                                          "1e+", "1e999", "inf", "NaN", "0x1"};
    jf_context *ctx = new_context();
    json *root = NULL;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (json_parse(ctx, &root, numbers[i], strlen(numbers[i]), "j") != JF_ERROR_FORMAT)
            test_fail(__FILE__, __LINE__, "\"%s\" was read", numbers[i]);
    jf_context_free(ctx);
}

TEST(json__refuses_what_is_too_deep_too_long_or_too_much) {
    jf_context *ctx = new_context();
    json *root = NULL;
    size_t size = ((size_t)1 << 24) + 1;
    char *chars = malloc(size);
    memset(chars, '[', size);
    CHECK_STATUS(json_parse(ctx, &root, chars, 1000, "j"), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "expected at most 32 levels of brackets");
    CHECK_STATUS(json_parse(ctx, &root, chars, size, "j"), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "bytes of JSON; expected at most 16777216");
    CHECK_STATUS(json_parse(ctx, &root, chars, size - 1, "j"), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "values; expected at most 1048576");
    memset(chars, '1', size);
    CHECK_STATUS(json_parse(ctx, &root, chars, 1000, "j"), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "a number of fewer than 64 characters");
    free(chars);
    jf_context_free(ctx);
}
