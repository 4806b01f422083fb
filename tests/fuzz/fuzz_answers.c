/* What servers answer to a download: the first answer, and after a line of four dashes those to later
 * requests. */
#define _GNU_SOURCE /* memmem */
#include "base/memory.h"
#include "fuzz.h"
#include "io/download.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_ANSWERS = 4, MOST_BYTES = 300 };
static const char between[] = "\n----\n";

/* Answers as they are given, in turn; connections beyond the last one are closed without a word. */
typedef struct server {
    int fd, port;
    pthread_mutex_t lock;
    struct {
        const uint8_t *bytes;
        size_t size;
    } answers[MOST_ANSWERS];
    int count, next;
} server;

static void answer_one(server *s, int fd) {
    char request[4096];
    size_t size = 0;
    ssize_t n;
    while (size < sizeof request && (n = recv(fd, request + size, sizeof request - size, 0)) > 0) {
        size += (size_t)n;
        if (memmem(request, size, "\r\n\r\n", 4)) break;
    }
    pthread_mutex_lock(&s->lock);
    if (s->next < s->count) {
        (void)!send(fd, s->answers[s->next].bytes, s->answers[s->next].size, MSG_NOSIGNAL);
        s->next++;
    }
    pthread_mutex_unlock(&s->lock);
    shutdown(fd, SHUT_WR);
    while (recv(fd, request, sizeof request, 0) > 0) continue;
    close(fd);
}

static void *serve(void *user) {
    server *s = user;
    for (int fd; (fd = accept(s->fd, NULL, NULL)) >= 0;) answer_one(s, fd);
    return NULL;
}

/* Lives as long as the process. */
static server *the_server(void) {
    static server s = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    pthread_t thread;
    if (s.port) return &s;
    s.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FUZZ_EXPECT(s.fd >= 0 && bind(s.fd, (struct sockaddr *)&address, size) == 0 && listen(s.fd, 16) == 0);
    FUZZ_EXPECT(getsockname(s.fd, (struct sockaddr *)&address, &size) == 0);
    s.port = ntohs(address.sin_port);
    FUZZ_EXPECT(pthread_create(&thread, NULL, serve, &s) == 0 && pthread_detach(thread) == 0);
    return &s;
}

static void set_answers(server *s, const uint8_t *bytes, size_t size) {
    const size_t gap = sizeof between - 1;
    pthread_mutex_lock(&s->lock);
    s->count = s->next = 0;
    while (bytes && s->count < MOST_ANSWERS) {
        const uint8_t *end = size ? memmem(bytes, size, between, gap) : NULL;
        s->answers[s->count].bytes = bytes;
        s->answers[s->count].size = end ? (size_t)(end - bytes) : size;
        s->count++;
        size = end ? size - (size_t)(end - bytes) - gap : 0;
        bytes = end ? end + gap : NULL;
    }
    pthread_mutex_unlock(&s->lock);
}

/* The right file begins with an 'a'. */
static jf_status check(jf_context *ctx, const char *path, const void *user) {
    (void)user;
    FILE *file = fopen(path, "rb");
    FUZZ_EXPECT(file);
    int first = getc(file);
    fclose(file);
    return first == 'a' ? JF_OK : jf_fail(ctx, JF_ERROR_DATA, "not the right file");
}

static void expect_right(const char *path) {
    FILE *file = fopen(path, "rb");
    FUZZ_EXPECT(file && getc(file) == 'a' && fseek(file, 0, SEEK_END) == 0 && ftell(file) <= MOST_BYTES);
    fclose(file);
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    server *s = the_server();
    char url[64];
    const char *const urls[] = {url};
    text path = {0}, part = {0};
    snprintf(url, sizeof url, "http://127.0.0.1:%d/file", s->port);
    text_add(&path, "%s/fetched", in->folder);
    text_add(&part, "%s/fetched.part", in->folder);
    FUZZ_EXPECT(!path.failed && !part.failed);
    set_answers(s, in->bytes, in->size);
    jf_status status = download_file(
        ctx, path.chars,
        &(download){.urls = urls, .url_count = 1, .limit = MOST_BYTES, .stall_seconds = 2, .check = check});
    if (status == JF_OK) expect_right(path.chars);
    set_answers(s, NULL, 0);
    remove(path.chars);
    remove(part.chars);
    text_free(&path);
    text_free(&part);
    return status;
}

const fuzz_reader fuzz_answers = {
    .name = "answers", .file = "input.txt", .most_bytes = 1024, .read = read_input};
