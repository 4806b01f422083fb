/* Who may ask: a request has to know the token, and to come from the page itself.
 *
 * Any page that a browser shows can send requests to this machine, and a name that an attacker owns can be
 * made to point here (DNS rebinding). So a request is taken only if its path begins with the token, its Host
 * is an address or localhost, never another name, with our port, its Origin, where it has one, is that of our
 * page, and what it sends is declared to be JSON, which no form of another page can do. */
#ifndef EXPLORE_GUARD_H
#define EXPLORE_GUARD_H

#include <stddef.h>

enum { GUARD_TOKEN = 32 }; /* hexadecimal digits: 128 bits */

typedef struct guard {
    char token[GUARD_TOKEN + 1];
    int port;
    int beyond_loopback; /* it was asked to listen elsewhere: any address is a good Host */
} guard;

/* A fresh token; 0 where the system has no random numbers. */
int guard_create(guard *out);

/* What a request says of itself before its body; NULL: nothing. */
typedef struct request_head {
    const char *method, *path;
    const char *host, *origin, *fetch_site, *content_type, *content_length;
    int twice; /* one of these headers came more than once */
} request_head;

enum { GUARD_MOST_BODY = 1 << 20 }; /* bytes of a request */

/* The status of HTTP: 200, and *rest is what follows the token in the path, or another with a sentence in
 * *why. */
int guard_check(const guard *g, const request_head *head, const char **rest, const char **why);

#endif
