/* The server: one connection after the other, one request each. It waits for the other side to go, never
 * for a time, so that nothing depends on how fast the machine is. */
#define _GNU_SOURCE /* strcasestr */
#include "http_fixture.h"
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static void send_all(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);
        if (n <= 0) return; /* the client has gone */
        bytes += n;
        size -= (size_t)n;
    }
}

/* The head of a request; 0 where the client went before its end. */
static int read_head(int fd, char *head, size_t room) {
    size_t length = 0;
    while (length + 1 < room) {
        ssize_t n = recv(fd, head + length, room - 1 - length, 0);
        if (n <= 0) return 0;
        length += (size_t)n;
        head[length] = '\0';
        if (strstr(head, "\r\n\r\n")) return 1;
    }
    return 0;
}

static void wait_until_gone(int fd) {
    char ignored[256];
    while (recv(fd, ignored, sizeof ignored, 0) > 0) {
    }
}

static void answer_file(int fd, route *r, long begin) {
    char head[512];
    int whole = begin < 0 || r->ignores_range, status = r->status ? r->status : whole ? 200 : 206;
    size_t start = whole ? 0 : (size_t)begin;
    if (!r->status && start >= r->size && start > 0) status = 416;
    size_t rest = status == 200 || status == 206 ? r->size - start : 0;
    int n = snprintf(head, sizeof head, "HTTP/1.1 %d Answer\r\nConnection: close\r\n", status);
    if (status == 206)
        n += snprintf(head + n, sizeof head - (size_t)n, "Content-Range: bytes %zu-%zu/%zu\r\n", start,
                      r->size - 1, r->size);
    if (r->location) n += snprintf(head + n, sizeof head - (size_t)n, "Location: %s\r\n", r->location);
    if (!r->hides_length) n += snprintf(head + n, sizeof head - (size_t)n, "Content-Length: %zu\r\n", rest);
    n += snprintf(head + n, sizeof head - (size_t)n, "\r\n");
    send_all(fd, head, (size_t)n);
    int bad = r->requests <= r->bad_answers;
    send_all(fd, r->body + start, bad && r->sends < rest ? r->sends : rest);
    if (bad && r->stalls) wait_until_gone(fd);
}

static void answer(int fd, route *routes) {
    char head[4096], path[256];
    if (!read_head(fd, head, sizeof head) || sscanf(head, "GET %255s", path) != 1) return;
    const char *range = strcasestr(head, "\r\nRange: bytes=");
    for (route *r = routes; r->path; r++) {
        if (strcmp(r->path, path) != 0) continue;
        long begin = range ? strtol(range + strlen("\r\nRange: bytes="), NULL, 10) : -1;
        if (r->requests < ROUTE_REQUESTS) r->begins[r->requests] = begin;
        r->requests++;
        answer_file(fd, r, begin);
        return;
    }
    static const char missing[] =
        "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 6\r\n\r\nabsent";
    send_all(fd, missing, sizeof missing - 1);
}

static void *serve(void *user) {
    http_server *s = user;
    for (;;) {
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0) return NULL; /* shut down */
        answer(fd, s->routes);
        shutdown(fd, SHUT_WR);
        wait_until_gone(fd); /* closing with something unread would take back what was sent */
        close(fd);
    }
}

void http_begin(http_server *s, route *routes) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *s = (http_server){.routes = routes};
    setenv("no_proxy", "127.0.0.1", 1); /* a proxy of the environment does not reach our loopback */
    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(s->fd >= 0);
    CHECK(bind(s->fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(s->fd, 16) == 0);
    CHECK(getsockname(s->fd, (struct sockaddr *)&address, &size) == 0);
    s->port = ntohs(address.sin_port);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d", s->port);
    CHECK(pthread_create(&s->thread, NULL, serve, s) == 0);
}

void http_end(http_server *s) {
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}
