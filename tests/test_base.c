/* Tests of src/base: context, memory, numbers as text, files. */
#include "test.h"

#include "base/context.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "cli.h"

#include <dirent.h>
#include <locale.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

static jf_context *new_context(void) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    return ctx;
}

/* ---- context ---- */

static void collect(void *user, const char *line) {
    text_add(user, "%s|", line);
}

TEST(context__keeps_the_last_message) {
    jf_context *ctx = new_context();
    CHECK_TEXT(jf_context_error(ctx), "");
    CHECK_STATUS(jf_fail(ctx, JF_ERROR_SHAPE, "found %d", 7), JF_ERROR_SHAPE);
    CHECK_TEXT(jf_context_error(ctx), "found 7");
    CHECK_STATUS(jf_fail(ctx, JF_ERROR_IO, "file: %s", jf_context_error(ctx)), JF_ERROR_IO);
    CHECK_TEXT(jf_context_error(ctx), "file: found 7");
    jf_context_free(ctx);
}

TEST(context__marks_a_message_that_was_cut) {
    jf_context *ctx = new_context();
    char *longest = malloc(10001);
    memset(longest, 'x', 10000);
    longest[10000] = '\0';
    jf_fail(ctx, JF_ERROR_IO, "%s", longest);
    size_t length = strlen(jf_context_error(ctx));
    CHECK(length > 100 && length < 10000);
    CHECK_TEXT(jf_context_error(ctx) + length - 4, "x...");
    free(longest);
    jf_context_free(ctx);
}

TEST(context__log_lines_reach_the_callback_and_nobody_else) {
    jf_context *ctx = new_context();
    text lines = {0};
    jf_log(ctx, "lost");
    jf_context_set_log(ctx, collect, &lines);
    jf_log(ctx, "epoch %d", 3);
    jf_log(ctx, "done");
    jf_context_set_log(ctx, NULL, NULL);
    jf_log(ctx, "lost too");
    CHECK_TEXT(lines.chars, "epoch 3|done|");
    text_free(&lines);
    jf_context_free(ctx);
}

TEST(context__messages_name_options_as_the_program_does) {
    jf_context *own = new_context(), *cli = NULL;
    char words[OPTION_WORDS];
    int count = 0;
    CHECK_STATUS(cli_context_create(&cli), JF_OK);
    for (; jf_option_name(count); count++) {
        CHECK(strncmp(option_words(own, count, "", words), "--", 2) != 0);
        CHECK(strncmp(option_words(cli, count, "", words), "--", 2) == 0);
        CHECK_STATUS(jf_context_name_option(own, jf_option_name(count), "<", ">"), JF_OK);
        CHECK_TEXT(option_words(own, count, "value", words), "<value>");
    }
    CHECK(count == NAMED_OPTIONS);
    CHECK_TEXT(option_words(cli, OPTION_KEY, "train.keep", words), "--set train.keep");
    CHECK_TEXT(option_words(NULL, OPTION_BOUNDS, "x0=0:", words), "bounds x0=0:");
    CHECK_STATUS(jf_context_name_option(own, "speed", "", ""), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(own), "\"speed\"");
    CHECK_STATUS(jf_context_name_option(own, "key", "", "12345678901234567890123456789012345678901234567"),
                 JF_OK);
    CHECK_STATUS(jf_context_name_option(own, "key", "", "123456789012345678901234567890123456789012345678"),
                 JF_ERROR_ARGUMENT);
    jf_context_free(cli);
    jf_context_free(own);
}

TEST(status__every_code_has_its_name_and_text) {
    CHECK_TEXT(jf_status_name(JF_ERROR_NUMERIC), "JF_ERROR_NUMERIC");
    CHECK_TEXT(jf_status_name(JF_STOPPED), "JF_STOPPED");
    CHECK_TEXT(jf_status_text(JF_OK), "success");
    CHECK_TEXT(jf_status_name((jf_status)-99), "JF_ERROR_UNKNOWN");
}

/* ---- memory ---- */

TEST(memory__comes_zeroed_and_never_as_null) {
    jf_context *ctx = new_context();
    double *values = NULL;
    CHECK_STATUS(MEM_NEW(ctx, &values, 1000), JF_OK);
    for (int i = 0; i < 1000; i++) CHECK(values[i] == 0);
    free(values);
    CHECK_STATUS(MEM_NEW(ctx, &values, 0), JF_OK);
    CHECK(values != NULL);
    free(values);
    jf_context_free(ctx);
}

TEST(memory__refuses_sizes_that_overflow) {
    jf_context *ctx = new_context();
    double *values = (double *)ctx;
    CHECK_STATUS(MEM_NEW(ctx, &values, SIZE_MAX / 4), JF_ERROR_MEMORY);
    CHECK(values == NULL);
    CHECK_HAS(jf_context_error(ctx), "not enough memory");
    CHECK_STATUS(mem_alloc(ctx, &values, SIZE_MAX, 1), JF_ERROR_MEMORY);
    jf_context_free(ctx);
}

TEST(text__grows_and_stays_terminated) {
    text t = {0};
    text_add_chars(&t, "", 0);
    CHECK_TEXT(t.chars, "");
    for (int i = 0; i < 1000; i++) text_add(&t, "%d,", i % 10);
    text_add_chars(&t, "end of it", 3);
    CHECK(t.length == 2003);
    CHECK(strlen(t.chars) == 2003);
    CHECK_TEXT(t.chars + 1990, "5,6,7,8,9,end");
    CHECK_STATUS(text_check(NULL, &t), JF_OK);
    text_free(&t);
    CHECK(t.chars == NULL && t.length == 0);
}

TEST(text__remembers_that_something_was_lost) {
    jf_context *ctx = new_context();
    text t = {0};
    text_add(&t, "kept");
    text_add_chars(&t, "x", SIZE_MAX - 2);
    text_add(&t, "ignored");
    CHECK_STATUS(text_check(ctx, &t), JF_ERROR_MEMORY);
    CHECK_TEXT(t.chars, "kept");
    text_free(&t);
    jf_context_free(ctx);
}

/* ---- numbers as text ---- */

TEST(number__reads_decimals_and_nothing_else) {
    double v = 0;
    CHECK(number_parse("-12.5e-1", &v) && v == -1.25);
    CHECK(number_parse("+.5", &v) && v == 0.5);
    CHECK(number_parse("3.", &v) && v == 3);
    CHECK(number_parse("-Inf", &v) && isinf(v) && v < 0);
    CHECK(number_parse("infinity", &v) && isinf(v));
    CHECK(number_parse("NaN", &v) && isnan(v));
    static const char *const wrong[] = {"",    " 1",   "1 ",     "0x10", "1,5",   "e5",    ".",  "-",
                                        "--1", "1e5x", "nan(1)", "in",   "infin", "1.2.3", "+-1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (number_parse(wrong[i], &v)) test_fail(__FILE__, __LINE__, "\"%s\" was read as %g", wrong[i], v);
    CHECK(number_scan("1.5;2", &v) == 3 && v == 1.5);
}

TEST(number__reads_whole_numbers_that_fit) {
    long long v = 0;
    CHECK(number_parse_int("-42", &v) && v == -42);
    CHECK(number_parse_int("9223372036854775807", &v) && v == INT64_MAX);
    CHECK(!number_parse_int("9223372036854775808", &v));
    CHECK(!number_parse_int("1.0", &v) && !number_parse_int("", &v) && !number_parse_int(" 1", &v));
    CHECK(!number_parse_int("0x1", &v) && !number_parse_int("1e3", &v));
}

TEST(number__is_printed_with_the_fewest_digits_that_read_back_the_same) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {1700000000.25, "1700000000.25"},
                 {-5e-324, "-4.94065645841247e-324"},
                 {123456789012345678.0, "1.2345678901234568e+17"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {-1.7976931348623157e308, "-1.797693134862316e+308"}};
    char chars[NUMBER_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(number_shortest(chars, cases[i].value) == (int)strlen(chars));
        if (i < 5) CHECK_TEXT(chars, cases[i].text);
    }
    for (uint64_t i = 0, bits = 1; i < 20000; i++) {
        double value, again = 0;
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&value, &bits, sizeof value);
        number_shortest(chars, value);
        CHECK(isnan(value) || (number_parse(chars, &again) && again == value));
    }
}

TEST(number__is_the_same_in_every_locale) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "de_DE", "fr_FR"};
    const char *set = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !set; i++) set = setlocale(LC_NUMERIC, names[i]);
    if (!set) SKIP("no locale with a decimal comma is installed");
    char theirs[16], ours[16];
    snprintf(theirs, sizeof theirs, "%g", 1.5);
    format_text(ours, sizeof ours, "%g", 1.5);
    double v = 0;
    int read = number_parse("2.5", &v);
    text t = {0};
    text_add(&t, "%.2f", 0.25);
    char after[16];
    snprintf(after, sizeof after, "%g", 1.5);
    setlocale(LC_NUMERIC, "C");
    CHECK_TEXT(theirs, "1,5");
    CHECK_TEXT(ours, "1.5");
    CHECK(read && v == 2.5);
    CHECK_TEXT(t.chars, "0.25");
    CHECK_TEXT(after, "1,5"); /* the host's locale is untouched */
    text_free(&t);
}

/* ---- files ---- */

static int entries_in(const char *folder) {
    int count = 0;
    DIR *d = opendir(folder);
    CHECK(d != NULL);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return count;
}

TEST(file__write_then_read_gives_the_same_bytes) {
    jf_context *ctx = new_context();
    char bytes[5000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 31);
    const char *path = test_path("some file.bin");
    CHECK_STATUS(file_write(ctx, path, bytes, sizeof bytes), JF_OK);
    char *read = NULL;
    size_t size = 0;
    CHECK_STATUS(file_read(ctx, &read, &size, path, sizeof bytes), JF_OK);
    CHECK(size == sizeof bytes && memcmp(read, bytes, size) == 0 && read[size] == '\0');
    free(read);
    CHECK_STATUS(file_write(ctx, path, NULL, 0), JF_OK);
    CHECK_STATUS(file_read(ctx, &read, &size, path, 10), JF_OK);
    CHECK(size == 0 && read[0] == '\0');
    free(read);
    jf_context_free(ctx);
}

TEST(file__write_leaves_no_temporary_files) {
    jf_context *ctx = new_context();
    for (int i = 0; i < 3; i++) CHECK_STATUS(file_write(ctx, test_path("a.txt"), "abc", 3), JF_OK);
    CHECK(entries_in(test_folder()) == 1);
    CHECK_STATUS(file_make_folder(ctx, test_path("b.txt")), JF_OK);
    CHECK_STATUS(file_write(ctx, test_path("b.txt"), "abc", 3), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(ctx), "b.txt: is a folder");
    CHECK(entries_in(test_folder()) == 2);
    jf_context_free(ctx);
}

TEST(file__write_keeps_links_and_permissions) {
    jf_context *ctx = new_context();
    const char *path = test_path("real"), *link = test_path("link");
    CHECK_STATUS(file_write(ctx, path, "old", 3), JF_OK);
    CHECK(chmod(path, 0640) == 0);
    CHECK(symlink(path, link) == 0);
    CHECK_STATUS(file_write(ctx, link, "newer", 5), JF_OK);
    struct stat info;
    CHECK(lstat(link, &info) == 0 && S_ISLNK(info.st_mode));
    CHECK(stat(path, &info) == 0 && info.st_size == 5 && (info.st_mode & 0777) == 0640);
    jf_context_free(ctx);
}

TEST(file__replace_and_append_change_nothing_behind_a_link) {
    jf_context *ctx = new_context();
    const char *precious = test_path("precious"), *place = test_path("folder/place");
    struct stat before, after;
    CHECK_STATUS(file_make_folder(ctx, test_path("folder/below")), JF_OK);
    CHECK_STATUS(file_write(ctx, precious, "precious", 8), JF_OK);
    CHECK(stat(precious, &before) == 0);
    static const char *const targets[] = {"../precious", "../folder", "nowhere", "/dev/full"};
    for (int i = 0; i < 5; i++) { /* the last of them: a second name of the file */
        CHECK((i < 4 ? symlink(targets[i], place) : link(precious, place)) == 0);
        if (i < 4) CHECK_STATUS(file_append(ctx, place, "more", 4), JF_ERROR_IO);
        CHECK_STATUS(file_replace(ctx, place, "own", 3), JF_OK);
        CHECK(lstat(place, &after) == 0 && S_ISREG(after.st_mode) && after.st_size == 3);
        CHECK_STATUS(file_append(ctx, place, "more", 4), JF_OK);
        CHECK(lstat(place, &after) == 0 && after.st_size == 7 && after.st_ino != before.st_ino);
        CHECK_STATUS(file_remove(ctx, place), JF_OK);
    }
    CHECK(stat(precious, &after) == 0 && after.st_size == 8 && after.st_ino == before.st_ino);
    CHECK_STATUS(file_replace(ctx, test_path("folder/below"), "", 0), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(ctx), "below: is a folder; expected a file");
    CHECK(mkfifo(place, 0666) == 0);
    CHECK_STATUS(file_replace(ctx, place, "", 0), JF_ERROR_IO);
    CHECK_STATUS(file_append(ctx, place, "", 0), JF_ERROR_IO);
    jf_context_free(ctx);
}

TEST(file__below_a_folder_links_are_refused) {
    jf_context *ctx = new_context();
    const char *folder = test_path("named");
    CHECK_STATUS(file_make_folder(ctx, test_path("folder/paper")), JF_OK);
    CHECK(symlink("folder", folder) == 0); /* which the user gave */
    CHECK(symlink("paper", test_path("folder/link")) == 0);
    CHECK_STATUS(file_check_below(ctx, folder, test_path("named/paper/sectors")), JF_OK);
    CHECK_STATUS(file_check_below(ctx, folder, test_path("named/link/sectors")), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(ctx), "named/link: is a link; expected a folder in ");
    CHECK_STATUS(file_check_below(ctx, folder, test_path("named/link")), JF_ERROR_IO);
    jf_context_free(ctx);
}

TEST(file__write_to_a_device_does_not_replace_it) {
    jf_context *ctx = new_context();
    CHECK_STATUS(file_write(ctx, "/dev/null", "abc", 3), JF_OK);
    struct stat info;
    CHECK(stat("/dev/null", &info) == 0 && S_ISCHR(info.st_mode));
    if (file_exists("/dev/full")) {
        CHECK_STATUS(file_write(ctx, "/dev/full", "abc", 3), JF_ERROR_IO);
        CHECK_HAS(jf_context_error(ctx), "/dev/full: could not be written: No space left on device");
    }
    jf_context_free(ctx);
}

TEST(file__errors_name_the_path_and_the_reason) {
    jf_context *ctx = new_context();
    char *read = NULL;
    size_t size = 0;
    CHECK_STATUS(file_read(ctx, &read, &size, "/nowhere/x", 10), JF_ERROR_IO);
    CHECK_TEXT(jf_context_error(ctx), "/nowhere/x: could not be opened: No such file or directory");
    CHECK(read == NULL);
    CHECK_STATUS(file_read(ctx, &read, &size, test_folder(), 10), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(ctx), "is a folder; expected a file");
    CHECK_STATUS(file_write(ctx, "/nowhere/x", "a", 1), JF_ERROR_IO);
    CHECK_TEXT(jf_context_error(ctx), "/nowhere/x: could not be created: No such file or directory");
    CHECK_STATUS(file_write(ctx, test_path("eleven"), "12345678901", 11), JF_OK);
    CHECK_STATUS(file_read(ctx, &read, &size, test_path("eleven"), 10), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "eleven: too large; expected at most 10 bytes");
    jf_context_free(ctx);
}

/* A pipe without a writer would be waited for, and a device may have no end. */
TEST(file__reads_regular_files_and_descriptors_and_refuses_the_rest_at_once) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    char *read = NULL, name[32];
    void *mapped = NULL;
    size_t size = 0;
    int ends[2];
    CHECK(mkfifo(test_path("fifo"), 0600) == 0);
    CHECK(symlink("fifo", test_path("link")) == 0);
    const char *const refused[] = {test_path("fifo"), test_path("link"), "/dev/zero", "/dev/null"};
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(file_read(ctx, &read, &size, refused[i], 1000), JF_ERROR_IO);
        CHECK_HAS(jf_context_error(ctx),
                  i < 2 ? ": is a pipe; expected a file" : ": is a device; expected a file");
        CHECK_STATUS(file_map(ctx, &mapped, &size, refused[i]), JF_ERROR_IO);
    }
    CHECK(pipe(ends) == 0 && write(ends[1], "abc", 3) == 3 && close(ends[1]) == 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    CHECK_STATUS(file_read(ctx, &read, &size, name, 1000), JF_OK);
    CHECK(size == 3);
    CHECK_TEXT(read, "abc");
    free(read);
    close(ends[0]);
    jf_context_free(ctx);
}

TEST(file__makes_folders_with_their_parents) {
    jf_context *ctx = new_context();
    CHECK_STATUS(file_make_folder(ctx, test_path("a/b//c/")), JF_OK);
    CHECK(file_is_folder(test_path("a/b/c")));
    CHECK_STATUS(file_make_folder(ctx, test_path("a/b/c")), JF_OK);
    CHECK_STATUS(file_write(ctx, test_path("a/file"), "", 0), JF_OK);
    CHECK_STATUS(file_make_folder(ctx, test_path("a/file")), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(ctx), "a/file: is a file; expected a folder");
    CHECK_STATUS(file_make_folder(ctx, test_path("a/file/below")), JF_ERROR_IO);
    CHECK_STATUS(file_make_folder(ctx, ""), JF_ERROR_ARGUMENT);
    CHECK(!file_is_folder(test_path("a/file")) && file_exists(test_path("a/file")));
    jf_context_free(ctx);
}

TEST(file__folder_that_cannot_be_made_is_refused_with_the_reason) {
    jf_context *ctx = new_context();
    const char *path = test_path("link"); /* to nowhere: there is something, but looking for it fails */
    CHECK(symlink("nowhere", path) == 0);
    CHECK_STATUS(file_make_folder(ctx, path), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(ctx), "link: is a file; expected a folder");
    if (geteuid() != 0) { /* nothing is forbidden to root */
        CHECK_STATUS(file_make_folder(ctx, test_path("closed")), JF_OK);
        CHECK(chmod(test_path("closed"), 0500) == 0);
        CHECK_STATUS(file_make_folder(ctx, test_path("closed/below")), JF_ERROR_IO);
        CHECK_HAS(jf_context_error(ctx), "closed/below: folder could not be made: Permission denied");
    }
    jf_context_free(ctx);
}

TEST(file__names_are_joined_and_taken_apart) {
    jf_context *ctx = new_context();
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}};
    for (int i = 0; i < 4; i++) {
        char *joined = NULL;
        CHECK_STATUS(file_join(ctx, &joined, cases[i][0], cases[i][1]), JF_OK);
        CHECK_TEXT(joined, cases[i][2]);
        free(joined);
    }
    CHECK_TEXT(file_extension("/a.b/c.tar.gz"), ".gz");
    CHECK_TEXT(file_extension("/a.b/c"), "");
    CHECK_TEXT(file_extension("/a/.hidden"), "");
    jf_context_free(ctx);
}

/* Sets a variable of the environment, or takes it away. */
static void set_variable(const char *name, const char *value) {
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

TEST(file__data_are_looked_for_in_their_places) {
    jf_context *ctx = new_context();
    const char *before[] = {getenv("JOINTFLOW_DATA"), getenv("XDG_DATA_HOME")};
    char *own = before[0] ? strdup(before[0]) : NULL, *shared = before[1] ? strdup(before[1]) : NULL;
    CHECK_STATUS(file_make_folder(ctx, test_path("own")), JF_OK);
    CHECK_STATUS(file_make_folder(ctx, test_path("shared/jointflow")), JF_OK);
    CHECK_STATUS(file_write(ctx, test_path("shared/jointflow/jf-both.csv"), "", 0), JF_OK);
    CHECK_STATUS(file_write(ctx, test_path("shared/jointflow/jf-one.csv"), "", 0), JF_OK);
    CHECK_STATUS(file_write(ctx, test_path("own/jf-both.csv"), "", 0), JF_OK);
    set_variable("JOINTFLOW_DATA", test_path("own"));
    set_variable("XDG_DATA_HOME", test_path("shared"));
    char *both = NULL, *one = NULL, *given = NULL, *none = NULL;
    jf_status found[] = {file_find_data(ctx, &both, "jf-both.csv"), file_find_data(ctx, &one, "jf-one.csv"),
                         file_find_data(ctx, &given, test_path("own")),
                         file_find_data(ctx, &none, "jf-none.csv")};
    set_variable("JOINTFLOW_DATA", own);
    set_variable("XDG_DATA_HOME", shared);
    for (int i = 0; i < 3; i++) CHECK_STATUS(found[i], JF_OK);
    CHECK_TEXT(both, test_path("own/jf-both.csv"));
    CHECK_TEXT(one, test_path("shared/jointflow/jf-one.csv"));
    CHECK_TEXT(given, test_path("own"));
    CHECK_STATUS(found[3], JF_ERROR_IO);
    CHECK(none == NULL);
    CHECK_HAS(jf_context_error(ctx), "jf-none.csv: not found; looked for jf-none.csv, ");
    CHECK_HAS(jf_context_error(ctx), test_path("own/jf-none.csv"));
    CHECK_HAS(jf_context_error(ctx), test_path("shared/jointflow/jf-none.csv"));
    free(own), free(shared), free(both), free(one), free(given);
    jf_context_free(ctx);
}

TEST(utf8__tells_where_it_ends) {
    static const struct {
        const char *chars;
        size_t good;
    } cases[] = {{"", 0},
                 {"abc", 3},
                 {"caf\xC3\xA9", 5},
                 {"\xF0\x9F\x98\x80", 4},
                 {"caf\xE9", 3},
                 {"a\xC3", 1},
                 {"a\x80", 1},
                 {"\xC0\xAF", 0},
                 {"\xED\xA0\x80", 0},
                 {"\xE0\x80\xAF", 0},
                 {"\xF4\x90\x80\x80", 0},
                 {"\xF8\x88\x80\x80\x80", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(utf8_prefix(cases[i].chars, strlen(cases[i].chars)) == cases[i].good);
}
