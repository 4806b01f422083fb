#include "guard.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

int guard_create(guard *out) {
    unsigned char bytes[GUARD_TOKEN / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return 0;
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(out->token + 2 * i, 3, "%02x", bytes[i]);
    return 1;
}

/* Takes the same time wherever they differ. */
static int same_token(const char *token, const char *given) {
    unsigned char differs = 0;
    for (int i = 0; i < GUARD_TOKEN; i++) {
        differs |= (unsigned char)(token[i] ^ given[i]);
        if (!given[i]) return 0;
    }
    return differs == 0;
}

static const char *after_token(const guard *g, const char *path) {
    if (!path || path[0] != '/' || !same_token(g->token, path + 1)) return NULL;
    const char *rest = path + 1 + GUARD_TOKEN;
    return *rest == '/' ? rest + 1 : NULL;
}

/* "NAME:PORT" without the port, which has to be ours (80 may be left out); NULL: it is another. */
static const char *name_of(const char *host, int port, char *out, size_t size) {
    const char *bracket = host[0] == '[' ? strchr(host, ']') : NULL;
    const char *colon = strchr(bracket ? bracket : host, ':');
    size_t length = colon ? (size_t)(colon - host) : strlen(host);
    char wanted[16];
    snprintf(wanted, sizeof wanted, ":%d", port);
    if (colon ? strcmp(colon, wanted) != 0 : port != 80) return NULL;
    if (length == 0 || length >= size) return NULL;
    memcpy(out, host, length);
    out[length] = '\0';
    return out;
}

static int is_address(const char *name) {
    unsigned char bytes[16];
    char inner[64];
    size_t length = strlen(name);
    if (inet_pton(AF_INET, name, bytes) == 1) return 1;
    if (length < 3 || length - 2 >= sizeof inner || name[0] != '[' || name[length - 1] != ']') return 0;
    memcpy(inner, name + 1, length - 2);
    inner[length - 2] = '\0';
    return inet_pton(AF_INET6, inner, bytes) == 1;
}

static int good_host(const guard *g, const char *host) {
    char name[64];
    if (!host || !name_of(host, g->port, name, sizeof name)) return 0;
    if (strcmp(name, "127.0.0.1") == 0 || strcmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0)
        return 1;
    return g->beyond_loopback && is_address(name); /* nobody can point an address elsewhere */
}

/* The page is of the Host that it asks. */
static int good_origin(const request_head *head) {
    static const char scheme[] = "http://";
    if (head->fetch_site && strcmp(head->fetch_site, "same-origin") != 0 &&
        strcmp(head->fetch_site, "none") != 0)
        return 0;
    if (!head->origin) return 1;
    return strncmp(head->origin, scheme, strlen(scheme)) == 0 &&
           strcmp(head->origin + strlen(scheme), head->host) == 0;
}

static int is_json(const char *type) {
    static const char json[] = "application/json";
    if (!type || strncmp(type, json, strlen(json)) != 0) return 0;
    return type[strlen(json)] == '\0' || type[strlen(json)] == ';';
}

static int refuse(int status, const char *sentence, const char **why) {
    *why = sentence;
    return status;
}

int guard_check(const guard *g, const request_head *head, const char **rest, const char **why) {
    int posts = strcmp(head->method, "POST") == 0;
    *rest = NULL;
    if (head->twice) return refuse(400, "a header is there twice", why);
    if (!good_host(g, head->host))
        return refuse(403, "Host is not that of the address that jointflow printed", why);
    if (!good_origin(head)) return refuse(403, "the request comes from another page", why);
    *rest = after_token(g, head->path);
    if (!*rest)
        return refuse(403, "the token is missing or wrong: take the address that jointflow printed", why);
    if (!posts && strcmp(head->method, "GET") != 0 && strcmp(head->method, "HEAD") != 0)
        return refuse(405, "expected GET, HEAD or POST", why);
    if (posts && !is_json(head->content_type))
        return refuse(415, "expected Content-Type: application/json", why);
    if (head->content_length && strtod(head->content_length, NULL) > GUARD_MOST_BODY)
        return refuse(413, "the request is larger than 1 MiB", why);
    return 200;
}
