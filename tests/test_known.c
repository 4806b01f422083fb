/* Tests of src/data/known.c with small sets and files that stand in for published ones. */
#include "format_fixture.h"

#include "base/memory.h"
#include "data/known.h"

#include <sys/stat.h>

/* The content of its two files is their name. */
static const known_set letters = {
    .name = "letters",
    .about = "letters",
    .licence = "no licence",
    .source = "nobody",
    .mirrors = {NULL},
    .files = {{"abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
              {"a", 1, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
              {0}}};

static void make_folder(const char *name) {
    CHECK(mkdir(test_path(name), 0777) == 0);
}

/* A mirror in the folder of the test, as the URL of a folder. */
static const char *put_mirror(const char *name, const char *abc, const char *a) {
    static char urls[2][256];
    static int next;
    char file[64], *url = urls[next++ % 2];
    make_folder(name);
    snprintf(file, sizeof file, "%s/abc.gz", name);
    put_file(file, abc, strlen(abc));
    snprintf(file, sizeof file, "%s/a.gz", name);
    put_file(file, a, strlen(a));
    snprintf(url, sizeof urls[0], "file://%s", test_path(name));
    return url;
}

/* Fetches into the folder of the test; the lines are to be freed. */
static char *fetch(jf_context *ctx, jf_status expected, const char *const *mirrors, int count) {
    text lines = {0};
    jf_fetch_options options = {.folder = test_folder(), .mirrors = mirrors, .mirror_count = (size_t)count};
    CHECK_STATUS(known_fetch(ctx, &lines, &letters, &options), expected);
    text_add(&lines, "%s", "");
    return lines.chars;
}

static void check_file_is(const char *name, const char *expected) {
    jf_context *ctx = new_context();
    char *found;
    size_t size;
    CHECK_STATUS(file_read(ctx, &found, &size, test_path(name), 1000), JF_OK);
    CHECK_TEXT(found, expected);
    free(found);
    jf_context_free(ctx);
}

static int count_calls(void *user, const jf_progress *p) {
    CHECK(p->phase != NULL);
    ++*(int *)user;
    return 0;
}

static int stop_at_once(void *user, const jf_progress *p) {
    (void)user, (void)p;
    return 1;
}

TEST(known__names_are_found_and_others_refused_with_the_list) {
    jf_context *ctx = new_context();
    CHECK(known_find(ctx, "mnist") != NULL);
    CHECK_TEXT(known_find(ctx, "fashion-mnist")->licence, "MIT");
    CHECK(known_find(ctx, "minst") == NULL);
    CHECK_HAS(jf_context_error(ctx), "found \"minst\"");
    CHECK_HAS(jf_context_error(ctx), "mnist, fashion-mnist, glyphs");
    jf_context_free(ctx);
}

TEST(known__every_set_is_complete) {
    for (const known_set *set = known_sets; set->name; set++) {
        if (!set->files[0].name) continue; /* generated */
        CHECK(set->about && set->licence && set->source && set->mirrors[0]);
        for (const known_file *file = set->files; file->name; file++) {
            CHECK(file->size > 0 && strlen(file->sha256) == 64);
            CHECK(strspn(file->sha256, "0123456789abcdef") == 64);
        }
    }
}

TEST(known__verify_names_file_found_and_expected) {
    jf_context *ctx = new_context();
    const known_file *abc = &letters.files[0];
    CHECK_STATUS(known_verify(ctx, put_file("right", "abc", 3), abc), JF_OK);
    CHECK_STATUS(known_verify(ctx, put_file("other", "abd", 3), abc), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), test_path("other"));
    CHECK_HAS(jf_context_error(ctx),
              "found SHA-256 a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9 of 3 bytes");
    CHECK_HAS(jf_context_error(ctx),
              "expected ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad of 3");
    CHECK_STATUS(known_verify(ctx, put_file("long", "abcd", 4), abc), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "at most 3 bytes");
    jf_context_free(ctx);
}

TEST(known__fetch_brings_what_is_missing_and_leaves_what_is_right) {
    jf_context *ctx = new_context();
    const char *mirror = put_mirror("mirror", "abc", "a");
    char *lines = fetch(ctx, JF_OK, &mirror, 1);
    CHECK_HAS(lines, "fetched  ");
    CHECK_HAS(lines, "letters/abc.gz\n");
    CHECK_HAS(lines, "letters: no licence, nobody\n");
    check_file_is("letters/abc.gz", "abc");
    check_file_is("letters/a.gz", "a");
    free(lines);
    const char *empty = "file:///nowhere";
    lines = fetch(ctx, JF_OK, &empty, 1); /* needs no mirror any more */
    CHECK_HAS(lines, "ok       ");
    CHECK(!strstr(lines, "fetched"));
    free(lines);
    jf_context_free(ctx);
}

TEST(known__fetch_takes_raw_files_for_right_too) {
    jf_context *ctx = new_context();
    make_folder("letters");
    put_file("letters/abc", "abc", 3);
    put_file("letters/a", "a", 1);
    const char *empty = "file:///nowhere";
    char *lines = fetch(ctx, JF_OK, &empty, 1);
    CHECK_HAS(lines, "letters/abc\n");
    free(lines);
    jf_context_free(ctx);
}

TEST(known__fetch_replaces_wrong_files_once_there_is_a_right_one) {
    jf_context *ctx = new_context();
    const char *bad = put_mirror("bad", "abd", "a"), *good = put_mirror("good", "abc", "a");
    make_folder("letters");
    put_file("letters/abc.gz", "old", 3);
    put_file("letters/a", "x", 1);
    char *lines = fetch(ctx, JF_ERROR_IO, &bad, 1);
    CHECK_HAS(jf_context_error(ctx), "letters/abc.gz: could not be fetched");
    CHECK_HAS(jf_context_error(ctx),
              "found SHA-256 a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9");
    CHECK_HAS(jf_context_error(ctx),
              "expected ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_file_is("letters/abc.gz", "old");
    check_file_is("letters/a", "x");
    free(lines);
    lines = fetch(ctx, JF_OK, (const char *const[]){bad, good}, 2);
    check_file_is("letters/abc.gz", "abc");
    check_file_is("letters/a.gz", "a");
    CHECK(!file_exists(test_path("letters/a"))); /* who reads the set must not find the wrong one */
    CHECK_HAS(lines, "removed  ");
    free(lines);
    jf_context_free(ctx);
}

TEST(known__fetch_goes_to_the_folder_of_the_user_without_another) {
    jf_context *ctx = new_context();
    int calls = 0;
    const char *mirror = put_mirror("mirror", "abc", "a");
    text lines = {0};
    jf_fetch_options options = {.mirrors = &mirror, .mirror_count = 1};
    jf_context_set_progress(ctx, count_calls, &calls);
    setenv("XDG_DATA_HOME", test_path("share"), 1);
    CHECK_STATUS(known_fetch(ctx, &lines, &letters, &options), JF_OK);
    check_file_is("share/jointflow/letters/abc.gz", "abc");
    CHECK(calls > 0);
    unsetenv("XDG_DATA_HOME");
    setenv("HOME", test_path("home"), 1);
    CHECK_STATUS(known_fetch(ctx, &lines, &letters, &options), JF_OK);
    check_file_is("home/.local/share/jointflow/letters/a.gz", "a");
    unsetenv("HOME");
    CHECK_STATUS(known_fetch(ctx, &lines, &letters, &options), JF_ERROR_ARGUMENT);
    text_free(&lines);
    jf_context_free(ctx);
}

TEST(known__fetch_stops_when_asked) {
    jf_context *ctx = new_context();
    const char *mirror = put_mirror("mirror", "abc", "a");
    text lines = {0};
    jf_fetch_options options = {.folder = test_folder(), .mirrors = &mirror, .mirror_count = 1};
    jf_context_set_progress(ctx, stop_at_once, NULL);
    CHECK_STATUS(known_fetch(ctx, &lines, &letters, &options), JF_STOPPED);
    CHECK(!file_exists(test_path("letters/abc.gz")));
    text_free(&lines);
    jf_context_free(ctx);
}

TEST(known__check_tells_missing_from_wrong) {
    jf_context *ctx = new_context();
    text lines = {0};
    int bad = 0;
    make_folder("mnist");
    make_folder("else");
    put_file("mnist/t10k-labels-idx1-ubyte", "abc", 3);
    CHECK_STATUS(known_check(ctx, &lines, test_folder(), &bad), JF_OK); /* the folder around it */
    CHECK(bad == 4);
    CHECK_HAS(lines.chars, "missing  ");
    CHECK_HAS(lines.chars, "mnist/train-images-idx3-ubyte.gz\n");
    CHECK_HAS(lines.chars, "wrong    ");
    CHECK_HAS(lines.chars,
              "found SHA-256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad of 3 bytes, "
              "expected ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2 of 10008\n");
    CHECK(!strstr(lines.chars, "fashion"));
    text again = {0};
    CHECK_STATUS(known_check(ctx, &again, test_path("mnist"), &bad), JF_OK); /* the folder itself */
    CHECK_TEXT(again.chars, lines.chars);
    CHECK_STATUS(known_check(ctx, &again, test_path("else"), &bad), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "holds no known data set");
    put_file("else/t10k-labels-idx1-ubyte", "abc", 3);
    CHECK_STATUS(known_check(ctx, &again, test_path("else"), &bad), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "none of them is right");
    CHECK_STATUS(known_check(ctx, &again, test_path("nowhere"), &bad), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(ctx), "nowhere: there is no such folder");
    text_free(&lines);
    text_free(&again);
    jf_context_free(ctx);
}

/* A folder of another name whose files say what they are. */
TEST(known__check_recognises_a_set_by_its_files) {
    const char *data = getenv("JOINTFLOW_DATA");
    if (!data || !*data) SKIP("JOINTFLOW_DATA is not set");
    jf_context *ctx = new_context();
    char *labels, *found = NULL;
    size_t size;
    text lines = {0};
    int bad;
    if (file_find_data(ctx, &found, "fashion-mnist/t10k-labels-idx1-ubyte.gz") != JF_OK)
        SKIP("fashion-mnist is not in JOINTFLOW_DATA");
    CHECK_STATUS(file_read(ctx, &labels, &size, found, 1 << 20), JF_OK);
    make_folder("else");
    put_file("else/t10k-labels-idx1-ubyte.gz", labels, size);
    CHECK_STATUS(known_check(ctx, &lines, test_path("else"), &bad), JF_OK);
    CHECK(bad == 3);
    CHECK_HAS(lines.chars, "ok       ");
    put_file("else/train-labels-idx1-ubyte", "abc", 3);
    CHECK_STATUS(known_check(ctx, &lines, test_path("else"), &bad), JF_OK);
    CHECK_HAS(
        lines.chars,
        "expected bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"); /* that of fashion-mnist
                                                                                       */
    free(labels);
    free(found);
    text_free(&lines);
    jf_context_free(ctx);
}

TEST(known__list_says_where_sets_are) {
    jf_context *ctx = new_context();
    text lines = {0};
    setenv("JOINTFLOW_DATA", test_folder(), 1);
    setenv("XDG_DATA_HOME", test_path("none"), 1);
    make_folder("mnist");
    make_folder("fashion-mnist");
    put_file("fashion-mnist/t10k-labels-idx1-ubyte.gz", "", 0);
    for (const known_file *file = known_find(ctx, "mnist")->files; file->name; file++) {
        char name[64];
        snprintf(name, sizeof name, "mnist/%s", file->name);
        put_file(name, "", 0);
    }
    CHECK_STATUS(known_list(ctx, &lines), JF_OK);
    char expected[512];
    snprintf(expected, sizeof expected, "mnist          found in %s\n", test_path("mnist"));
    CHECK_HAS(lines.chars, expected);
    snprintf(expected, sizeof expected, "fashion-mnist  1 of 4 files found in %s;",
             test_path("fashion-mnist"));
    CHECK_HAS(lines.chars, expected);
    CHECK_HAS(lines.chars, "55 MB; CC BY-SA 3.0, LeCun, Cortes, Burges\n");
    CHECK_HAS(lines.chars, "glyphs         needs no files\n");
    text_free(&lines);
    jf_context_free(ctx);
}
