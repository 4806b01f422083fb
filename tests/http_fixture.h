/* A small HTTP server on the loopback, in a thread of the test, that can be as bad as servers on the net
 * are. */
#ifndef JF_TESTS_HTTP_FIXTURE_H
#define JF_TESTS_HTTP_FIXTURE_H

#include <pthread.h>
#include <stddef.h>

enum { ROUTE_REQUESTS = 16 };

/* What it answers to one path. */
typedef struct route {
    const char *path; /* "/file"; the table ends with NULL */
    const char *body;
    size_t size;
    int status;           /* 0: 200, or 206 where a range was asked for */
    const char *location; /* where status says that the file is elsewhere */
    int ignores_range;
    int hides_length;            /* the end of the connection is the end of the file */
    size_t sends;                /* so many bytes of the body in the first `bad_answers` answers; 0: all */
    int bad_answers;             /* of those with `sends` */
    int stalls;                  /* keeps silent after what it sends, instead of ending the connection */
    int requests;                /* how many came */
    long begins[ROUTE_REQUESTS]; /* the first byte that each asked for; -1: no range */
} route;

typedef struct http_server {
    int fd, port;
    pthread_t thread;
    route *routes;
    char url[64]; /* "http://127.0.0.1:PORT" */
} http_server;

void http_begin(http_server *s, route *routes);
void http_end(http_server *s); /* from here on the counts of the routes may be read */

#endif
