#include "server.h"
#include "cli.h"
#include "guard.h"
#include "page.h"
#include "visitors.h"
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 4,             /* requests that are answered at the same time */
    CONNECTION_BYTES = 32768 /* for the head of a request, which is refused where it is longer */
};

struct server {
    struct MHD_Daemon *daemon;
    explorer *e;
    guard guard;
    visitors *visitors;
    char address[128];
};

/* A request whose body comes in pieces. */
typedef struct pending {
    buffer body;
    int status; /* of HTTP, as the head was judged */
    const char *why;
    int too_large;
} pending;

/* ---- replies ---- */

typedef struct reply {
    int status;
    const char *type;
    const void *bytes;
    size_t size;
    enum MHD_ResponseMemoryMode memory;
} reply;

/* Nothing is fetched from elsewhere, kept by caches, framed or read by other pages. */
static const char *const headers[][2] = {
    {"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' "
                                "data: blob:; connect-src 'self'; "
                                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

static enum MHD_Result send_reply(struct MHD_Connection *connection, const reply *r) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(r->size, (void *)(uintptr_t)r->bytes, r->memory);
    if (!response) {
        if (r->memory == MHD_RESPMEM_MUST_FREE) free((void *)(uintptr_t)r->bytes);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, r->type);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    enum MHD_Result queued = MHD_queue_response(connection, (unsigned)r->status, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result send_refusal(struct MHD_Connection *connection, int status, const char *why) {
    buffer b = {0};
    buffer_add(&b, "{\"error\":");
    buffer_add_text(&b, why);
    buffer_add(&b, "}\n");
    if (b.failed) {
        buffer_free(&b);
        return MHD_NO;
    }
    return send_reply(connection,
                      &(reply){status, "application/json", b.chars, b.length, MHD_RESPMEM_MUST_FREE});
}

/* ---- files ---- */

static const char *type_of(const char *name) {
    static const char *const types[][2] = {
        {".html", "text/html; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".svg", "image/svg+xml"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (cli_ends_with(name, types[i][0])) return types[i][1];
    return "application/octet-stream";
}

static enum MHD_Result send_file(struct MHD_Connection *connection, const char *name) {
    if (!*name) name = "index.html";
    for (const page_file *f = page_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return send_reply(connection,
                              &(reply){200, type_of(name), f->bytes, f->size, MHD_RESPMEM_PERSISTENT});
    return send_refusal(connection, 404, "there is no such file");
}

/* ---- answers ---- */

static enum MHD_Result send_answer(server *s, struct MHD_Connection *connection, const char *name,
                                   const buffer *body) {
    buffer out = {0};
    char why[ANSWER_WHY] = "";
    int status = answers_give(s->e, name, body->chars, body->length, &out, why);
    if (status == 200 && out.failed) {
        status = 500;
        snprintf(why, sizeof why, "not enough memory");
    }
    if (status != 200) {
        buffer_free(&out);
        return send_refusal(connection, status, why);
    }
    return send_reply(connection,
                      &(reply){200, "application/json", out.chars, out.length, MHD_RESPMEM_MUST_FREE});
}

/* ---- requests ---- */

/* Headers by their names, in the order of the fields they fill. */
static enum MHD_Result take_header(void *user, enum MHD_ValueKind kind, const char *name, const char *value) {
    request_head *head = user;
    const struct {
        const char *name;
        const char **to;
    } known[] = {{"Host", &head->host},
                 {"Origin", &head->origin},
                 {"Sec-Fetch-Site", &head->fetch_site},
                 {"Content-Type", &head->content_type},
                 {"Content-Length", &head->content_length}};
    (void)kind;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(name, known[i].name) == 0) {
            if (*known[i].to) head->twice = 1;
            *known[i].to = value ? value : "";
        }
    return MHD_YES;
}

static enum MHD_Result begin_request(server *s, struct MHD_Connection *connection, const char *path,
                                     const char *method, void **own) {
    pending *p = calloc(1, sizeof *p);
    const char *rest;
    request_head head = {.method = method, .path = path};
    if (!p) return MHD_NO;
    *own = p;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, take_header, &head);
    p->status = guard_check(&s->guard, &head, &rest, &p->why);
    if (p->status == 200) visitors_begin(s->visitors, connection);
    if (p->status == 413) return send_refusal(connection, p->status, p->why); /* before it is sent at all */
    return MHD_YES;
}

static void take_body(pending *p, const char *bytes, size_t count) {
    if (p->status != 200) return;
    if (count > GUARD_MOST_BODY - p->body.length) {
        p->too_large = 1;
        buffer_free(&p->body);
    } else if (!p->too_large) {
        buffer_add_bytes(&p->body, bytes, count);
    }
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *bytes, size_t *count,
                              void **own) {
    server *s = user;
    pending *p = *own;
    (void)version;
    if (!p) return begin_request(s, connection, path, method, own);
    if (*count > 0) {
        take_body(p, bytes, *count);
        *count = 0;
        return MHD_YES;
    }
    visitors_complete(s->visitors, connection);
    if (p->status != 200) return send_refusal(connection, p->status, p->why);
    if (p->too_large) return send_refusal(connection, 413, "the request is larger than 1 MiB");
    if (p->body.failed) return send_refusal(connection, 500, "not enough memory");
    /* the path is given again with every call, and may lie elsewhere */
    const char *rest = path + 1 + GUARD_TOKEN + 1;
    if (strcmp(method, "POST") != 0) return send_file(connection, rest);
    if (strncmp(rest, "api/", 4) != 0) return send_refusal(connection, 405, "expected GET");
    return send_answer(s, connection, rest + 4, &p->body);
}

static void end_request(void *user, struct MHD_Connection *connection, void **own,
                        enum MHD_RequestTerminationCode why) {
    server *s = user;
    pending *p = *own;
    (void)why;
    visitors_answered(s->visitors, connection);
    if (p) buffer_free(&p->body);
    free(p);
    *own = NULL;
}

/* ---- start and end ---- */

typedef union any_address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
} any_address;

static int read_address(const char *text, int port, any_address *out) {
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, &out->four.sin_addr) == 1) {
        out->four.sin_family = AF_INET;
        out->four.sin_port = htons((uint16_t)port);
        return 1;
    }
    if (inet_pton(AF_INET6, text, &out->six.sin6_addr) != 1) return 0;
    out->six.sin6_family = AF_INET6;
    out->six.sin6_port = htons((uint16_t)port);
    return 1;
}

int server_is_loopback(const char *address) {
    any_address a;
    if (!read_address(address, 0, &a)) return -1;
    if (a.any.sa_family == AF_INET) return ntohl(a.four.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&a.six.sin6_addr);
}

static void write_address(server *s, const any_address *a, const char *given) {
    int six = a->any.sa_family == AF_INET6;
    int everywhere = six ? IN6_IS_ADDR_UNSPECIFIED(&a->six.sin6_addr) : a->four.sin_addr.s_addr == 0;
    const char *shown = everywhere ? (six ? "::1" : "127.0.0.1") : given;
    snprintf(s->address, sizeof s->address, six ? "http://[%s]:%d/%s/" : "http://%s:%d/%s/", shown,
             s->guard.port, s->guard.token);
}

static struct MHD_Daemon *start_daemon(server *s, const any_address *a) {
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO;
    unsigned most = VISITORS_ROOM, idle = VISITORS_IDLE;
    if (a->any.sa_family == AF_INET6) flags |= MHD_USE_IPv6;
    return MHD_start_daemon(flags, 0, NULL, NULL, handle, s, MHD_OPTION_SOCK_ADDR, &a->any,
                            MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS, MHD_OPTION_CONNECTION_LIMIT, most,
                            MHD_OPTION_CONNECTION_TIMEOUT, idle, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)CONNECTION_BYTES, MHD_OPTION_NOTIFY_CONNECTION, visitors_notice,
                            s->visitors, MHD_OPTION_NOTIFY_COMPLETED, end_request, s, MHD_OPTION_END);
}

int server_start(server **out, explorer *e, const server_options *options) {
    any_address a;
    server *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return cli_fail_memory();
    s->e = e;
    s->guard.beyond_loopback = server_is_loopback(options->address) == 0;
    if (!guard_create(&s->guard)) {
        free(s);
        return cli_fail("no random numbers for a token: %s", strerror(errno));
    }
    if (!(s->visitors = visitors_create())) {
        free(s);
        return cli_fail_memory();
    }
    errno = 0;
    if (read_address(options->address, options->port, &a)) s->daemon = start_daemon(s, &a);
    const union MHD_DaemonInfo *info =
        s->daemon ? MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
    if (!info) {
        int code = cli_fail("cannot listen on %s, port %d: %s", options->address, options->port,
                            errno ? strerror(errno) : "not an address of this machine");
        server_stop(s);
        return code;
    }
    s->guard.port = info->port; /* before anybody can know the token */
    write_address(s, &a, options->address);
    *out = s;
    return CLI_OK;
}

void server_stop(server *s) {
    if (!s) return;
    if (s->daemon) MHD_stop_daemon(s->daemon);
    visitors_free(s->visitors);
    free(s);
}

const char *server_address(const server *s) {
    return s->address;
}
