/* What jointflow explore is made of: who may ask, what is asked, what is written; and where the data of a
 * model are. */
#include "explore/ask.h"
#include "explore/buffer.h"
#include "explore/guard.h"
#include "jointflow/jointflow.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the guard ---- */

static const char token[] = "0123456789abcdef0123456789abcdef";

static guard door(void) {
    guard g = {.port = 8080};
    memcpy(g.token, token, sizeof token);
    return g;
}

/* A request that is taken, to be spoiled in one thing. */
static request_head good_head(char path[64], const char *rest) {
    snprintf(path, 64, "/%s/%s", token, rest);
    return (request_head){.method = "POST",
                          .path = path,
                          .host = "127.0.0.1:8080",
                          .origin = "http://127.0.0.1:8080",
                          .fetch_site = "same-origin",
                          .content_type = "application/json",
                          .content_length = "10"};
}

static int status_of(const guard *g, request_head head) {
    const char *rest, *why = "";
    int status = guard_check(g, &head, &rest, &why);
    CHECK(status == 200 ? rest != NULL : *why != '\0');
    return status;
}

TEST(explore_guard__takes_its_own_page_and_nothing_else) {
    guard g = door();
    char path[64];
    const char *rest, *why;
    request_head head = good_head(path, "api/sample"), bad;
    CHECK(guard_check(&g, &head, &rest, &why) == 200);
    CHECK_TEXT(rest, "api/sample");
#define REFUSED(field, value, status)                                                                        \
    do {                                                                                                     \
        bad = head;                                                                                          \
        bad.field = value;                                                                                   \
        CHECK(status_of(&g, bad) == (status));                                                               \
    } while (0)
    REFUSED(path, "/", 403);
    REFUSED(path, "/0123456789abcdef0123456789abcdee/api/sample", 403);
    REFUSED(path, "/0123456789abcdef0123456789abcdef", 403);
    REFUSED(path, "/0123", 403);
    REFUSED(path, "", 403);
    REFUSED(host, NULL, 403);
    REFUSED(host, "evil.example:8080", 403);
    REFUSED(host, "127.0.0.1:8081", 403);
    REFUSED(host, "10.0.0.1:8080", 403);
    REFUSED(host, "[::1", 403);
    REFUSED(host, ":8080", 403);
    REFUSED(origin, "http://evil.example", 403);
    REFUSED(origin, "null", 403);
    REFUSED(fetch_site, "cross-site", 403);
    REFUSED(method, "DELETE", 405);
    REFUSED(content_type, "text/plain", 415);
    REFUSED(content_type, "application/jsonp", 415);
    REFUSED(content_type, NULL, 415);
    REFUSED(content_length, "1048577", 413);
    REFUSED(content_length, "1e30", 413);
    REFUSED(twice, 1, 400);
    g.beyond_loopback = 1; /* then addresses are good, names are not */
    head.origin = NULL;
    REFUSED(host, "10.0.0.1:8080", 200);
    REFUSED(host, "[fe80::1]:8080", 200);
    REFUSED(host, "evil.example:8080", 403);
}

TEST(explore_guard__no_two_tokens_are_alike) {
    guard a, b;
    CHECK(guard_create(&a) && guard_create(&b));
    CHECK(strlen(a.token) == GUARD_TOKEN && strspn(a.token, "0123456789abcdef") == GUARD_TOKEN);
    CHECK(strcmp(a.token, b.token) != 0);
}

/* ---- JSON ---- */

TEST(explore_json__texts_and_numbers_are_read_back_as_they_were) {
    static const char *const texts[] = {"", "a\"b\\c", "\x01\n\t\x1f",
                                        "gr\xc3\xb6\xc3\x9f"
                                        "er \xf0\x9f\x98\x80"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        buffer b = {0};
        buffer_add_text(&b, texts[i]);
        json_t *back = json_loadb(b.chars, b.length, JSON_DECODE_ANY, NULL);
        CHECK(back);
        CHECK_TEXT(json_string_value(back), texts[i]);
        json_decref(back);
        buffer_free(&b);
    }
    buffer b = {0};
    buffer_add_text(&b, "\xff\xc0\x80\xed\xa0\x80 \xf4\x90\x80\x80\xe2\x82"); /* not UTF-8 */
    json_t *mended = json_loadb(b.chars, b.length, JSON_DECODE_ANY, NULL);
    CHECK(json_is_string(mended));
    json_decref(mended);
    buffer_free(&b);
    buffer_add_numbers(&b, (double[]){1.5, NAN, -INFINITY, 1e-300}, 4);
    CHECK_TEXT(b.chars, "[1.5,null,null,1e-300]");
    buffer_free(&b);
}

TEST(explore_json__base64_is_that_of_the_standard) {
    static const char *const pairs[][2] = {
        {"", "\"\""}, {"f", "\"Zg==\""}, {"fo", "\"Zm8=\""}, {"foobar", "\"Zm9vYmFy\""}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) { /* RFC 4648, section 10 */
        buffer b = {0};
        buffer_add_base64(&b, (const unsigned char *)pairs[i][0], strlen(pairs[i][0]));
        CHECK_TEXT(b.chars, pairs[i][1]);
        buffer_free(&b);
    }
}

TEST(explore_ask__the_first_field_that_is_wrong_is_named) {
    static const char body[] = "{\"n\": 7.5, \"y\": [1, null], \"seed\": \"12x\"}";
    double y[2];
    ask a;
    ask_read(&a, body, strlen(body));
    CHECK(!a.refused);
    CHECK(ask_whole(&a, "missing", 1, 9, 4) == 4 && !a.refused);
    ask_whole(&a, "n", 1, 9, 4);
    CHECK_HAS(a.why, "n: expected a whole number from 1 to 9");
    ask_numbers(&a, "y", y, 2);
    CHECK_NEAR(y[0], 1, 0);
    CHECK_NEAR(y[1], 0, 0);
    CHECK_HAS(a.why, "n: expected"); /* still */
    ask_free(&a);
    ask_read(&a, "[1]", 3);
    CHECK_HAS(a.why, "not a JSON object");
    ask_free(&a);
}

/* ---- where the data of a model are ---- */

static jf_model *trained(jf_context *ctx, const char *recipe) {
    jf_recipe *r = NULL;
    jf_model *m = NULL;
    CHECK_STATUS(jf_recipe_parse(&r, ctx, recipe, "test.recipe"), JF_OK);
    CHECK_STATUS(jf_train(&m, ctx, r, &(jf_train_options){.size = sizeof(jf_train_options), .threads = 1}),
                 JF_OK);
    jf_recipe_free(r);
    return m;
}
#define SMALL                                                                                                \
    "[model]\nblocks = 1\ndepth = 1\nwidth = 4\n[train]\nbatch = 20\nbatches = 2\nepochs = 1\nks_every = "   \
    "0\n"

TEST(explore_data__ranges_and_words_are_those_of_the_data) {
    jf_context *ctx = NULL;
    char *words;
    double lo, hi, y = 3;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    jf_model *m = trained(ctx, "[data]\nset = sectors\n" SMALL);
    CHECK_STATUS(jf_model_y_range(m, 0, &lo, &hi), JF_OK);
    CHECK(lo < 1 && hi > 5 && hi < 7); /* angles */
    CHECK_STATUS(jf_model_y_range(m, 1, &lo, &hi), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_y_beyond(&words, m, &y), JF_OK);
    CHECK_TEXT(words, "");
    free(words);
    y = 20;
    CHECK_STATUS(jf_y_beyond(&words, m, &y), JF_OK);
    CHECK_HAS(words, "y0 is 20, ");
    free(words);
    CHECK_TEXT(jf_model_objective(m), "joint");
    CHECK_TEXT(jf_model_data_set(m), "sectors");
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(explore_data__rows_are_of_the_class_that_was_asked_for) {
    jf_context *ctx = NULL;
    double x[2 * 50], y[50], again[2 * 50];
    size_t found;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    jf_model *m = trained(ctx, "[data]\nset = crescents\n" SMALL);
    CHECK_STATUS(jf_data_rows(m, 50, 1, 3, &found, x, y), JF_OK);
    CHECK(found == 50);
    for (int i = 0; i < 50; i++) CHECK_NEAR(y[i], jf_model_label(m, 1), 0);
    CHECK_STATUS(jf_data_rows(m, 50, 1, 3, &found, again, NULL), JF_OK);
    CHECK(memcmp(x, again, sizeof x) == 0);
    CHECK_STATUS(jf_data_rows(m, 50, 2, 3, &found, x, y), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_data_rows(m, (size_t)-1, 0, 3, &found, x, y), JF_ERROR_ARGUMENT);
    jf_model_free(m);
    m = trained(ctx, "[loss]\nobjective = rule\nrule = cross\n" SMALL);
    CHECK_STATUS(jf_data_rows(m, 5, -1, 3, &found, x, y), JF_ERROR_UNSUPPORTED);
    CHECK_HAS(jf_context_error(ctx), "trained from a rule");
    CHECK_TEXT(jf_model_data_set(m), "");
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(explore_data__y_error_is_the_mean_difference_in_the_models_units) {
    jf_context *ctx = NULL;
    double error, y[] = {0, 1}, back[] = {0, 1}, x[4], given[] = {1, 1}, y_back[2], in_model, in_data;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    jf_model *m = trained(ctx, "[data]\nset = sectors\n" SMALL);
    CHECK_STATUS(jf_y_error(m, 2, y, back, &error), JF_OK);
    CHECK_NEAR(error, 0, 0);
    CHECK_STATUS(jf_sample(m, 2, given, x, y_back, NULL, NULL), JF_OK);
    CHECK_STATUS(jf_y_error(m, 2, given, y_back, &in_model), JF_OK);
    in_data = (fabs(y_back[0] - 1) + fabs(y_back[1] - 1)) / 2;
    back[0] = 2; /* 1 in the data's units is 1 / deviation */
    y[0] = 1;
    CHECK_STATUS(jf_y_error(m, 1, y, back, &error), JF_OK);
    CHECK_NEAR(in_model, in_data * error, 1e-6 * in_model);
    jf_model_free(m);
    jf_context_free(ctx);
}

/* ---- looking at a model while it is trained ---- */

typedef struct looks {
    int with, without;
    double x[4];
} looks;

static int look(void *user, const jf_progress *p) {
    looks *k = user;
    double y[2] = {1, 1};
    if (!p->training || !p->training->model) {
        k->without++;
        return 0;
    }
    CHECK(p->training->epoch_ended);
    CHECK_STATUS(jf_sample(p->training->model, 2, y, k->x, NULL, NULL, NULL), JF_OK);
    k->with++;
    return 0;
}

TEST(explore_watch__a_training_that_is_looked_at_ends_as_one_that_is_not) {
    jf_context *ctx = NULL;
    jf_recipe *r = NULL;
    jf_model *m[2];
    looks k = {0};
    double y[2] = {1, 1}, x[2][4];
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(jf_recipe_parse(&r, ctx, "[data]\nset = crescents\n" SMALL, "test.recipe"), JF_OK);
    for (int i = 0; i < 2; i++) {
        jf_train_options o = {.size = sizeof(jf_train_options), .threads = 2};
        jf_context_set_progress(ctx, i ? look : NULL, &k);
        CHECK_STATUS(jf_train(&m[i], ctx, r, &o), JF_OK);
        CHECK_STATUS(jf_sample(m[i], 2, y, x[i], NULL, NULL, NULL), JF_OK);
    }
    CHECK(k.with > 0);
    CHECK(memcmp(x[0], x[1], sizeof x[0]) == 0);
    for (int i = 0; i < 2; i++) jf_model_free(m[i]);
    jf_recipe_free(r);
    jf_context_free(ctx);
}
