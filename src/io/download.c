/* Fetching a file.
 *
 * Invariants: `path` is only ever touched by renaming a file onto it that was whole and right. `path`.part
 * holds bytes that some mirror sent, from the first one on; a part that turned out wrong is emptied at
 * once. One process at a time works on a part: it is locked. */
#include "io/download.h"
#include "base/memory.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if LIBCURL_VERSION_NUM < 0x075500
#error "libcurl 7.85 or later is needed"
#endif

enum { ATTEMPTS = 5 }; /* on one mirror, as long as each brings something */
static const double default_stall_seconds = 30;
static const char allowed_schemes[] = "http,https,file", allowed_after_redirection[] = "http,https";

/* Why a transfer was broken off by ourselves. */
typedef enum cut { CUT_NOT, CUT_STOPPED, CUT_STALLED, CUT_TOO_LARGE, CUT_NOT_WRITTEN } cut;

typedef struct fetching {
    jf_context *ctx;
    const download *d;
    const char *path, *part;
    int fd;        /* of the part */
    uint64_t size; /* of the part */
    double stall_seconds;
    text failures; /* of the mirrors so far */

    /* of the transfer under way */
    CURL *curl;
    uint64_t start, total; /* where in the file its first byte belongs; bytes of the whole, 0: not known */
    int began;             /* that byte has come */
    double moved_at;
    curl_off_t moved; /* bytes that had come by then */
    cut cut;
    int write_error; /* errno of CUT_NOT_WRITTEN */
} fetching;

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Tells how far it is; whether a stop is wanted. */
static int stop_wanted(const fetching *f) {
    return f->d->progress && f->d->progress(f->d->user, f->size, f->total);
}

int download_is_url(const char *url) {
    static const char *const starts[] = {"http://", "https://", "file://"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncasecmp(url, starts[i], strlen(starts[i])) == 0) return 1;
    return 0;
}

/* ---- the part ---- */

static jf_status fail_part(const fetching *f, const char *what, int error) {
    return jf_fail(f->ctx, JF_ERROR_IO, "%s: %s: %s", f->part, what, strerror(error));
}

static jf_status empty_part(fetching *f) {
    if (ftruncate(f->fd, 0) != 0) return fail_part(f, "could not be emptied", errno);
    f->size = 0;
    return JF_OK;
}

/* Whoever can write into the folder could have put something else there: a link to a file of ours, which
 * would be emptied and overwritten in its place. */
static jf_status check_own(const fetching *f, const struct stat *info) {
    const char *found = !S_ISREG(info->st_mode)     ? "is not a plain file"
                        : info->st_nlink > 1        ? "is a file with other names, too"
                        : info->st_uid != geteuid() ? "is a file of another user"
                                                    : NULL;
    if (!found) return JF_OK;
    return jf_fail(
        f->ctx, JF_ERROR_IO,
        "%s: %s, expected what a download of one's own has left; remove it to fetch from the start", f->part,
        found);
}

/* Makes the part, or opens the one that is there. */
static jf_status open_own(const fetching *f, int *fd, struct stat *info) {
    enum { FLAGS = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
    *fd = open(f->part, FLAGS | O_CREAT | O_EXCL, 0666);
    int made = *fd >= 0, there = !made && errno == EEXIST;
    if (there) *fd = open(f->part, FLAGS);
    if (*fd < 0 && errno == ELOOP)
        return jf_fail(
            f->ctx, JF_ERROR_IO,
            "%s: is a symbolic link, expected what a download of one's own has left; remove it to fetch "
            "from the start",
            f->part);
    if (*fd < 0 && there && errno == ENOENT) return JF_OK; /* gone in between: to be tried again */
    if (*fd < 0) return fail_part(f, "could not be opened", errno);
    jf_status status = fstat(*fd, info) != 0 ? fail_part(f, "could not be examined", errno) : JF_OK;
    if (status == JF_OK && !made) status = check_own(f, info);
    if (status == JF_OK) return JF_OK;
    close(*fd);
    *fd = -1;
    return status;
}

/* One try to open and lock the part: *fd is -1 where it was renamed between the two, by the process that had
 * the lock before. What is locked then is a finished file under its final name, not to be written to. */
static jf_status lock_part(const fetching *f, int *fd, struct stat *info) {
    struct stat there;
    JF_TRY(open_own(f, fd, info));
    if (*fd < 0) return JF_OK;
    jf_status status = JF_OK;
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        status = jf_fail(f->ctx, JF_ERROR_IO, "%s: another process is fetching this file", f->part);
    else if (fstat(*fd, info) != 0) /* as it is now that nobody else writes it */
        status = fail_part(f, "could not be examined", errno);
    else if (lstat(f->part, &there) == 0 && there.st_ino == info->st_ino && there.st_dev == info->st_dev)
        return JF_OK;
    close(*fd);
    *fd = -1;
    return status;
}

static jf_status open_part(fetching *f) {
    struct stat info;
    while (f->fd < 0) JF_TRY(lock_part(f, &f->fd, &info));
    f->size = (uint64_t)info.st_size;
    return f->size > f->d->limit ? empty_part(f) : JF_OK;
}

/* A part with nothing in it is of no use to anybody. */
static void close_part(fetching *f) {
    if (f->fd < 0) return;
    if (f->size == 0) unlink(f->part);
    close(f->fd);
}

static jf_status put_in_place(fetching *f) {
    if (fsync(f->fd) != 0) return fail_part(f, "could not be written", errno);
    if (rename(f->part, f->path) != 0)
        return jf_fail(f->ctx, JF_ERROR_IO, "%s: could not be put in place: %s", f->path, strerror(errno));
    return JF_OK;
}

/* ---- what libcurl calls ---- */

/* Before the first byte is written. A server that does not know ranges sends the file from its start. */
static int begin_body(fetching *f) {
    long code = 0;
    curl_off_t length = -1;
    curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_getinfo(f->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    f->began = 1;
    if (code == 200 && f->start > 0) {
        f->start = f->size = 0;
        if (ftruncate(f->fd, 0) != 0) f->cut = CUT_NOT_WRITTEN, f->write_error = errno;
    }
    if (length > 0 && (uint64_t)length > f->d->limit - f->start) f->cut = CUT_TOO_LARGE;
    return f->cut == CUT_NOT;
}

static size_t on_bytes(char *bytes, size_t unit, size_t count, void *user) {
    fetching *f = user;
    size_t n = unit * count, written = 0;
    if (stop_wanted(f)) f->cut = CUT_STOPPED;
    if (f->cut != CUT_NOT || (!f->began && !begin_body(f))) return CURL_WRITEFUNC_ERROR;
    if (n > f->d->limit - f->size) {
        f->cut = CUT_TOO_LARGE;
        return CURL_WRITEFUNC_ERROR;
    }
    while (written < n) {
        ssize_t step = pwrite(f->fd, bytes + written, n - written, (off_t)f->size);
        if (step < 0 && errno == EINTR) continue;
        if (step < 0) {
            f->cut = CUT_NOT_WRITTEN;
            f->write_error = errno;
            return CURL_WRITEFUNC_ERROR;
        }
        written += (size_t)step;
        f->size += (uint64_t)step;
    }
    return n;
}

/* Called about once a second when nothing happens, more often when something does. */
static int on_progress(void *user, curl_off_t total, curl_off_t now, curl_off_t to_send, curl_off_t sent) {
    (void)to_send, (void)sent;
    fetching *f = user;
    double t = now_seconds();
    if (now != f->moved) f->moved = now, f->moved_at = t;
    f->total = f->began && total > 0 ? f->start + (uint64_t)total : 0;
    if (stop_wanted(f))
        f->cut = CUT_STOPPED;
    else if (t - f->moved_at > f->stall_seconds)
        f->cut = CUT_STALLED;
    return f->cut != CUT_NOT;
}

/* ---- one transfer ---- */

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void begin_curl(void) {
    curl_global_init(CURL_GLOBAL_DEFAULT); /* a failure shows in curl_easy_init() */
}

/* Proxies are those of the environment. */
static void configure(fetching *f, const char *url, char *details) {
    CURL *c = f->curl;
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, allowed_schemes);
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, allowed_after_redirection);
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(c, CURLOPT_MAXREDIRS, 10L);
    curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L); /* the page about an error is not the file */
    curl_easy_setopt(c, CURLOPT_USERAGENT, "jointflow");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L); /* there may be other threads */
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)(1000 * f->stall_seconds));
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, details);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, f);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, f);
    char range[32];
    snprintf(range, sizeof range, "%llu-", (unsigned long long)f->size);
    if (f->size > 0) curl_easy_setopt(c, CURLOPT_RANGE, range);
}

/* Says what went wrong; JF_ERROR_DATA where another mirror may do better. */
static jf_status explain(fetching *f, const char *url, CURLcode result, long code, const char *details) {
    switch (f->cut) {
    case CUT_STOPPED:
        return JF_STOPPED;
    case CUT_STALLED:
        return jf_fail(f->ctx, JF_ERROR_DATA, "%s: nothing came for %g seconds", url, f->stall_seconds);
    case CUT_TOO_LARGE:
        return jf_fail(f->ctx, JF_ERROR_DATA, "%s: too large; expected at most %llu bytes", url,
                       (unsigned long long)f->d->limit);
    case CUT_NOT_WRITTEN:
        return fail_part(f, "could not be written", f->write_error);
    case CUT_NOT:
        break;
    }
    if (result == CURLE_OUT_OF_MEMORY) return jf_fail(f->ctx, JF_ERROR_MEMORY, "%s: not enough memory", url);
    if (result == CURLE_HTTP_RETURNED_ERROR)
        return jf_fail(f->ctx, JF_ERROR_DATA, "%s: HTTP status %ld", url, code);
    return jf_fail(f->ctx, JF_ERROR_DATA, "%s: %s", url, *details ? details : curl_easy_strerror(result));
}

/* Fetches what the part lacks. A range that begins behind the end of the file means that nothing is lacking,
 * or that the part is of another file: the check will tell. */
static jf_status transfer(fetching *f, const char *url) {
    char details[CURL_ERROR_SIZE] = "";
    pthread_once(&curl_once, begin_curl);
    f->curl = curl_easy_init();
    if (!f->curl) return jf_fail(f->ctx, JF_ERROR_MEMORY, "%s: libcurl could not begin", url);
    f->start = f->size;
    f->began = 0;
    f->cut = CUT_NOT;
    f->moved = 0;
    f->moved_at = now_seconds();
    configure(f, url, details);
    CURLcode result = curl_easy_perform(f->curl);
    long code = 0;
    curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_cleanup(f->curl);
    f->curl = NULL;
    int range_is_behind = f->start > 0 && (code == 416 || result == CURLE_BAD_DOWNLOAD_RESUME);
    if (f->cut == CUT_NOT && (result == CURLE_OK || range_is_behind)) return JF_OK;
    jf_status status = explain(f, url, result, code, details);
    if (f->cut == CUT_TOO_LARGE && empty_part(f) != JF_OK) return JF_ERROR_IO;
    return status;
}

/* ---- mirrors ---- */

static int other_may_do_better(jf_status status) {
    return status == JF_ERROR_DATA || status == JF_ERROR_FORMAT;
}

/* Checks the whole file. One that is wrong is not kept: everything after it would be wrong, too. */
static jf_status check_part(fetching *f, const char *url) {
    jf_status status = f->d->check ? f->d->check(f->ctx, f->part, f->d->check_user) : JF_OK;
    if (!other_may_do_better(status)) return status;
    jf_fail(f->ctx, status, "%s: %s", url, jf_context_error(f->ctx));
    JF_TRY(empty_part(f));
    return status;
}

/* Goes on while that brings something and does not cost patience. A wrong file that began with bytes of an
 * earlier time, perhaps of another mirror, says nothing about this one: it gets the chance to send all of
 * it. */
static jf_status fetch_from(fetching *f, const char *url) {
    jf_status status = JF_OK;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t before = f->size;
        status = transfer(f, url);
        if (status == JF_OK) {
            status = check_part(f, url);
            if (!other_may_do_better(status) || f->start == 0) return status;
        } else if (!other_may_do_better(status) || f->cut == CUT_STALLED || f->size <= before) {
            return status;
        }
    }
    return status;
}

static jf_status try_mirrors(fetching *f) {
    const download *d = f->d;
    for (int i = 0; i < d->url_count; i++) {
        jf_status status = stop_wanted(f) ? JF_STOPPED : fetch_from(f, d->urls[i]);
        if (!other_may_do_better(status)) return status;
        const char *why = jf_context_error(f->ctx);
        text_add(&f->failures, "%s%s", f->failures.length ? "; " : "", why);
        if (i + 1 < d->url_count) jf_log(f->ctx, "%s; trying the next mirror", why);
    }
    return jf_fail(f->ctx, JF_ERROR_IO, "%s: could not be fetched: %s", f->path,
                   f->failures.chars ? f->failures.chars : "no mirror is known");
}

jf_status download_file(jf_context *ctx, const char *path, const download *d) {
    for (int i = 0; i < d->url_count; i++)
        if (!download_is_url(d->urls[i]))
            return jf_fail(ctx, JF_ERROR_ARGUMENT,
                           "found \"%s\", expected a URL that begins with http://, https:// or file://",
                           d->urls[i]);
    text part = {0};
    text_add(&part, "%s.part", path);
    fetching f = {.ctx = ctx, .d = d, .path = path, .part = part.chars, .fd = -1};
    f.stall_seconds = d->stall_seconds > 0 ? d->stall_seconds : default_stall_seconds;
    jf_status status;
    JF_TRY_DONE(text_check(ctx, &part));
    JF_TRY_DONE(open_part(&f));
    JF_TRY_DONE(try_mirrors(&f));
    status = put_in_place(&f);
done:
    close_part(&f);
    text_free(&f.failures);
    text_free(&part);
    return status;
}
