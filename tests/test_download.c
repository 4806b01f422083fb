/* Tests of src/io/download.c against a server on the loopback. */
#include "format_fixture.h"
#include "http_fixture.h"

#include "base/digest.h"
#include "base/memory.h"
#include "io/download.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 300000, LIMIT = 400000, HALF = SIZE / 2 };
static const char old_content[] = "what was there before";

/* A server with some routes, a folder, and a download of /file and what a test adds. */
typedef struct scene {
    jf_context *ctx;
    http_server server;
    char *body, digest[SHA256_TEXT]; /* the right file */
    const char *path, *part;
    char urls[4][128];
    const char *url_list[4];
    download d;
    text log;
    uint64_t bytes, total; /* of the last progress */
    uint64_t stop_at;      /* bytes that are there when it stops; 0: never */
} scene;

static jf_status check_digest(jf_context *ctx, const char *path, const void *user) {
    char *bytes, found[SHA256_TEXT];
    size_t size;
    JF_TRY(file_read(ctx, &bytes, &size, path, 10 * LIMIT));
    sha256_text(found, bytes, size);
    free(bytes);
    if (strcmp(found, user) == 0) return JF_OK;
    return jf_fail(ctx, JF_ERROR_DATA, "found SHA-256 %s, expected %s", found, (const char *)user);
}

static int keep_progress(void *user, uint64_t bytes, uint64_t total) {
    scene *s = user;
    s->bytes = bytes;
    s->total = total;
    return s->stop_at && bytes >= s->stop_at;
}

static void keep_log(void *user, const char *line) {
    text_add(user, "%s\n", line);
}

/* Bytes without a pattern, so that no piece is like another. */
static char *new_body(uint32_t seed) {
    char *body = malloc(SIZE);
    CHECK(body != NULL);
    rng random = rng_stream((rng_key){.seed = seed, .purpose = RNG_TEST}, 0);
    for (int i = 0; i < SIZE; i++) body[i] = (char)rng_bits(&random);
    return body;
}

/* Mirrors are the routes of the server, in their order, then what the test adds. A route without a body
 * gets the right one. */
static void begin_scene(scene *s, route *routes) {
    *s = (scene){.ctx = new_context(), .body = new_body(1)};
    sha256_text(s->digest, s->body, SIZE);
    s->path = test_path("file");
    s->part = test_path("file.part");
    jf_context_set_log(s->ctx, keep_log, &s->log);
    s->d = (download){.urls = s->url_list,
                      .limit = LIMIT,
                      .check = check_digest,
                      .check_user = s->digest,
                      .progress = keep_progress,
                      .user = s};
    for (route *r = routes; r->path; r++)
        if (!r->body) r->body = s->body, r->size = SIZE;
    http_begin(&s->server, routes);
    for (route *r = routes; r->path && s->d.url_count < 4; r++) {
        int i = s->d.url_count++;
        snprintf(s->urls[i], sizeof s->urls[i], "%s%s", s->server.url, r->path);
        s->url_list[i] = s->urls[i];
    }
}

static jf_status fetch(scene *s) {
    return download_file(s->ctx, s->path, &s->d);
}

static void check_fetched(const scene *s) {
    char *found;
    size_t size;
    CHECK_STATUS(file_read(s->ctx, &found, &size, s->path, LIMIT), JF_OK);
    CHECK(size == SIZE && memcmp(found, s->body, SIZE) == 0);
    free(found);
    CHECK(!file_exists(s->part));
}

/* The download failed: what was there before is untouched. */
static void check_kept_old(const scene *s) {
    char *found;
    size_t size;
    CHECK_STATUS(file_read(s->ctx, &found, &size, s->path, LIMIT), JF_OK);
    CHECK_TEXT(found, old_content);
    free(found);
}

static void put_old(void) {
    put_file("file", old_content, sizeof old_content - 1);
}

static void end_server(scene *s) {
    http_end(&s->server);
}

static void end_scene(scene *s) {
    text_free(&s->log);
    free(s->body);
    jf_context_free(s->ctx);
}

/* ---- the good way ---- */

TEST(download__brings_a_file_and_tells_how_far_it_is) {
    route routes[] = {{.path = "/file"}, {0}};
    scene s;
    begin_scene(&s, routes);
    put_old();
    CHECK_STATUS(fetch(&s), JF_OK);
    end_server(&s);
    check_fetched(&s);
    CHECK(routes[0].requests == 1 && routes[0].begins[0] == -1);
    CHECK(s.bytes > 0 && s.bytes <= SIZE && s.total == SIZE);
    CHECK(s.log.length == 0);
    end_scene(&s);
}

TEST(download__goes_on_from_the_part) {
    route routes[] = {{.path = "/file"}, {0}};
    scene s;
    begin_scene(&s, routes);
    put_file("file.part", s.body, HALF);
    CHECK_STATUS(fetch(&s), JF_OK);
    end_server(&s);
    check_fetched(&s);
    CHECK(routes[0].requests == 1 && routes[0].begins[0] == HALF);
    CHECK(s.total == SIZE);
    end_scene(&s);
}

TEST(download__starts_again_where_the_server_ignores_ranges) {
    route routes[] = {{.path = "/file", .ignores_range = 1}, {0}};
    scene s;
    begin_scene(&s, routes);
    put_file("file.part", s.body, HALF);
    CHECK_STATUS(fetch(&s), JF_OK);
    end_server(&s);
    check_fetched(&s);
    CHECK(routes[0].requests == 1 && routes[0].begins[0] == HALF);
    end_scene(&s);
}

TEST(download__takes_a_part_that_is_whole_already) {
    route routes[] = {{.path = "/file"}, {0}};
    scene s;
    begin_scene(&s, routes);
    put_file("file.part", s.body, SIZE);
    CHECK_STATUS(fetch(&s), JF_OK);
    end_server(&s);
    check_fetched(&s);
    CHECK(routes[0].requests == 1 && routes[0].begins[0] == SIZE);
    end_scene(&s);
}

TEST(download__drops_a_part_of_another_file) {
    route routes[] = {{.path = "/file"}, {0}};
    static const size_t sizes[] = {HALF, SIZE, SIZE + 1000, LIMIT + 1};
    for (int i = 0; i < 4; i++) {
        scene s;
        begin_scene(&s, routes);
        char *other = calloc(LIMIT + 1, 1);
        CHECK(other != NULL);
        put_file("file.part", other, sizes[i]);
        free(other);
        routes[0].requests = 0;
        CHECK_STATUS(fetch(&s), JF_OK);
        end_server(&s);
        check_fetched(&s);
        CHECK(routes[0].requests == (sizes[i] > LIMIT ? 1 : 2));
        CHECK(routes[0].begins[routes[0].requests - 1] == -1);
        routes[0].body = NULL;
        end_scene(&s);
    }
}

TEST(download__follows_to_another_place_but_not_to_local_files) {
    char local[256];
    route routes[] = {{.path = "/moved", .status = 302, .location = "/file"},
                      {.path = "/file"},
                      {.path = "/trap", .status = 302, .location = local},
                      {0}};
    scene s;
    begin_scene(&s, routes);
    snprintf(local, sizeof local, "file://%s", put_file("source", s.body, SIZE));
    s.d.url_count = 1;
    CHECK_STATUS(fetch(&s), JF_OK);
    check_fetched(&s);
    s.url_list[0] = s.urls[2];
    CHECK_STATUS(fetch(&s), JF_ERROR_IO); /* although the file there is the right one */
    CHECK_HAS(jf_context_error(s.ctx), s.urls[2]);
    end_server(&s);
    end_scene(&s);
}

TEST(download__copies_from_files_and_goes_on_there_too) {
    scene s;
    begin_scene(&s, (route[]){{0}});
    end_server(&s);
    snprintf(s.urls[0], sizeof s.urls[0], "file://%s", put_file("source", s.body, SIZE));
    s.url_list[0] = s.urls[0];
    s.d.url_count = 1;
    CHECK_STATUS(fetch(&s), JF_OK);
    check_fetched(&s);
    put_file("file.part", s.body, HALF);
    CHECK_STATUS(fetch(&s), JF_OK);
    check_fetched(&s);
    put_file("file.part", s.body, SIZE);
    CHECK_STATUS(fetch(&s), JF_OK);
    check_fetched(&s);
    end_scene(&s);
}

/* ---- bad mirrors ---- */

TEST(download__goes_on_after_a_connection_that_broke) {
    route routes[] = {{.path = "/file", .sends = 1000, .bad_answers = 2}, {0}};
    scene s;
    begin_scene(&s, routes);
    CHECK_STATUS(fetch(&s), JF_OK);
    end_server(&s);
    check_fetched(&s);
    CHECK(routes[0].requests == 3 && routes[0].begins[1] == 1000 && routes[0].begins[2] == 2000);
    end_scene(&s);
}

TEST(download__keeps_the_part_of_mirrors_that_always_break) {
    route routes[] = {{.path = "/file", .sends = 1000, .bad_answers = 1000}, {0}};
    scene s;
    begin_scene(&s, routes);
    put_old();
    CHECK_STATUS(fetch(&s), JF_ERROR_IO);
    end_server(&s);
    CHECK_HAS(jf_context_error(s.ctx), s.urls[0]);
    check_kept_old(&s);
    CHECK(routes[0].requests > 1 && routes[0].requests < 10); /* it gives up */
    char *part;
    size_t size;
    CHECK_STATUS(file_read(s.ctx, &part, &size, s.part, LIMIT), JF_OK);
    CHECK(size == 1000 * (size_t)routes[0].requests && memcmp(part, s.body, size) == 0);
    free(part);
    end_scene(&s);
}

TEST(download__sees_a_truncation_that_only_the_check_can_see) {
    route routes[] = {{.path = "/short", .hides_length = 1, .sends = HALF, .bad_answers = 1000},
                      {.path = "/file", .hides_length = 1},
                      {0}};
    scene s;
    begin_scene(&s, routes);
    CHECK_STATUS(fetch(&s), JF_OK);
    end_server(&s);
    check_fetched(&s);
    CHECK(routes[1].begins[0] == -1); /* the wrong part was not built upon */
    CHECK(s.total == 0);
    end_scene(&s);
}

TEST(download__tries_the_next_mirror_after_404) {
    route routes[] = {{.path = "/gone", .status = 404}, {.path = "/file"}, {0}};
    scene s;
    begin_scene(&s, routes);
    CHECK_STATUS(fetch(&s), JF_OK);
    end_server(&s);
    check_fetched(&s);
    CHECK_HAS(s.log.chars, "/gone: HTTP status 404; trying the next mirror");
    end_scene(&s);
}

TEST(download__names_every_mirror_that_failed_and_its_status) {
    route routes[] = {{.path = "/gone", .status = 404}, {.path = "/broken", .status = 500}, {0}};
    scene s;
    begin_scene(&s, routes);
    put_old();
    CHECK_STATUS(fetch(&s), JF_ERROR_IO);
    end_server(&s);
    check_kept_old(&s);
    CHECK(!file_exists(s.part));
    CHECK_HAS(jf_context_error(s.ctx), s.path);
    CHECK_HAS(jf_context_error(s.ctx), "/gone: HTTP status 404");
    CHECK_HAS(jf_context_error(s.ctx), "/broken: HTTP status 500");
    CHECK_STATUS(fetch(&s), JF_ERROR_IO); /* the server has gone */
    CHECK_HAS(jf_context_error(s.ctx), s.urls[0]);
    CHECK_HAS(jf_context_error(s.ctx), "onnect");
    end_scene(&s);
}

TEST(download__tries_the_next_mirror_after_a_wrong_checksum) {
    char *other = new_body(2);
    route routes[] = {{.path = "/wrong", .body = other, .size = SIZE}, {.path = "/file"}, {0}};
    scene s;
    begin_scene(&s, routes);
    put_old();
    CHECK_STATUS(fetch(&s), JF_OK);
    end_server(&s);
    check_fetched(&s);
    CHECK_HAS(s.log.chars, "/wrong: found SHA-256 ");
    CHECK(routes[0].requests == 1 && routes[1].requests == 1 && routes[1].begins[0] == -1);
    free(other);
    end_scene(&s);
}

TEST(download__wrong_checksums_everywhere_leave_nothing_behind) {
    char *other = new_body(2), digest[SHA256_TEXT];
    sha256_text(digest, other, SIZE);
    route routes[] = {{.path = "/wrong", .body = other, .size = SIZE}, {0}};
    scene s;
    begin_scene(&s, routes);
    put_old();
    CHECK_STATUS(fetch(&s), JF_ERROR_IO);
    end_server(&s);
    check_kept_old(&s);
    CHECK(!file_exists(s.part));
    CHECK_HAS(jf_context_error(s.ctx), s.path);
    CHECK_HAS(jf_context_error(s.ctx), digest);
    CHECK_HAS(jf_context_error(s.ctx), s.digest);
    free(other);
    end_scene(&s);
}

TEST(download__gives_a_silent_mirror_up_and_goes_on_elsewhere) {
    route routes[] = {
        {.path = "/slow", .sends = 1000, .bad_answers = 1000, .stalls = 1}, {.path = "/file"}, {0}};
    scene s;
    begin_scene(&s, routes);
    s.d.stall_seconds = 0.2;
    CHECK_STATUS(fetch(&s), JF_OK);
    end_server(&s);
    check_fetched(&s);
    CHECK_HAS(s.log.chars, "/slow: nothing came for 0.2 seconds");
    CHECK(routes[0].requests == 1 && routes[1].begins[0] == 1000);
    end_scene(&s);
}

TEST(download__refuses_more_than_the_limit_said_or_not) {
    for (int hides = 0; hides < 2; hides++) {
        route routes[] = {{.path = "/file", .hides_length = hides}, {0}};
        scene s;
        begin_scene(&s, routes);
        put_old();
        s.d.limit = SIZE - 1;
        CHECK_STATUS(fetch(&s), JF_ERROR_IO);
        CHECK_HAS(jf_context_error(s.ctx), "too large; expected at most 299999 bytes");
        check_kept_old(&s);
        CHECK(!file_exists(s.part));
        CHECK(routes[0].requests == 1);
        s.d.limit = SIZE;
        CHECK_STATUS(fetch(&s), JF_OK);
        end_server(&s);
        check_fetched(&s);
        end_scene(&s);
    }
}

TEST(download__does_not_wait_for_the_end_of_what_is_said_to_be_too_large) {
    route routes[] = {{.path = "/file", .sends = 1000, .bad_answers = 1, .stalls = 1}, {0}};
    scene s;
    begin_scene(&s, routes);
    s.d.limit = SIZE - 1;
    CHECK_STATUS(fetch(&s), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(s.ctx), "too large");
    end_server(&s);
    end_scene(&s);
}

/* ---- from our side ---- */

TEST(download__stops_when_asked_and_goes_on_later) {
    route routes[] = {{.path = "/file", .sends = HALF, .bad_answers = 1, .stalls = 1}, {0}};
    scene s;
    begin_scene(&s, routes);
    s.stop_at = HALF;
    CHECK_STATUS(fetch(&s), JF_STOPPED);
    CHECK(!file_exists(s.path));
    s.stop_at = 1;
    CHECK_STATUS(fetch(&s), JF_STOPPED); /* before it begins */
    s.stop_at = 0;
    CHECK_STATUS(fetch(&s), JF_OK);
    end_server(&s);
    check_fetched(&s);
    CHECK(routes[0].requests == 2 && routes[0].begins[1] == HALF);
    end_scene(&s);
}

TEST(download__refuses_other_schemes_before_anything_is_fetched) {
    static const char *const refused[] = {"ftp://127.0.0.1/file", "/etc/passwd", "", "scp://host/file",
                                          "httpx://a"};
    route routes[] = {{.path = "/file"}, {0}};
    scene s;
    begin_scene(&s, routes);
    s.d.url_count = 2;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        s.url_list[1] = refused[i];
        CHECK_STATUS(fetch(&s), JF_ERROR_ARGUMENT);
        CHECK_HAS(jf_context_error(s.ctx), "expected a URL that begins with http://, https:// or file://");
    }
    end_server(&s);
    CHECK(routes[0].requests == 0 && !file_exists(s.part));
    end_scene(&s);
}

TEST(download__leaves_a_part_alone_that_another_process_works_on) {
    route routes[] = {{.path = "/file"}, {0}};
    scene s;
    begin_scene(&s, routes);
    int fd = open(put_file("file.part", "", 0), O_RDWR);
    CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
    CHECK_STATUS(fetch(&s), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(s.ctx), "file.part: another process is fetching this file");
    CHECK(file_exists(s.part));
    close(fd);
    CHECK_STATUS(fetch(&s), JF_OK);
    end_server(&s);
    check_fetched(&s);
    CHECK(routes[0].requests == 1);
    end_scene(&s);
}

/* What somebody else could have planted in a folder that he may write into. */
TEST(download__never_writes_through_a_planted_part) {
    enum { SYMBOLIC, DANGLING, HARD, PIPE, PLANTS };
    static const char *const messages[] = {"is a symbolic link", "is a symbolic link",
                                           "is a file with other names, too", "is not a plain file"};
    route routes[] = {{.path = "/file"}, {0}};
    scene s;
    begin_scene(&s, routes);
    char precious[256];
    snprintf(precious, sizeof precious, "%s", put_file("precious", "mine", 4));
    for (int i = 0; i < PLANTS; i++) {
        CHECK((i == SYMBOLIC   ? symlink(precious, s.part)
               : i == DANGLING ? symlink(test_path("new"), s.part)
               : i == HARD     ? link(precious, s.part)
                               : mkfifo(s.part, 0666)) == 0);
        CHECK_STATUS(fetch(&s), JF_ERROR_IO);
        CHECK_HAS(jf_context_error(s.ctx), "file.part: ");
        CHECK_HAS(jf_context_error(s.ctx), messages[i]);
        CHECK(!file_exists(test_path("new")) && !file_exists(s.path));
        CHECK(unlink(s.part) == 0);
    }
    char *bytes = NULL;
    size_t size = 0;
    CHECK_STATUS(file_read(s.ctx, &bytes, &size, precious, 100), JF_OK);
    CHECK_TEXT(bytes, "mine");
    free(bytes);
    CHECK_STATUS(fetch(&s), JF_OK);
    end_server(&s);
    CHECK(routes[0].requests == 1); /* nothing was asked for before */
    end_scene(&s);
}

TEST(download__fails_at_once_where_nothing_can_be_written) {
    route routes[] = {{.path = "/file"}, {0}};
    scene s;
    begin_scene(&s, routes);
    s.path = test_path("nowhere/file");
    CHECK_STATUS(fetch(&s), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(s.ctx), "nowhere/file.part: could not be opened");
    end_server(&s);
    CHECK(routes[0].requests == 0);
    end_scene(&s);
}

static jf_status check_without_memory(jf_context *ctx, const char *path, const void *user) {
    (void)user;
    return jf_fail(ctx, JF_ERROR_MEMORY, "%s: not enough memory", path);
}

TEST(download__ends_where_the_check_could_not_tell) {
    route routes[] = {{.path = "/file"}, {.path = "/again"}, {0}};
    scene s;
    begin_scene(&s, routes);
    s.d.check = check_without_memory;
    CHECK_STATUS(fetch(&s), JF_ERROR_MEMORY);
    CHECK(!file_exists(s.path) && file_exists(s.part));
    end_server(&s);
    CHECK(routes[0].requests == 1 && routes[1].requests == 0);
    end_scene(&s);
}
