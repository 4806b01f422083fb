/* The server of the page: HTTP on one address, a few threads, everything else refused (guard.h). */
#ifndef EXPLORE_SERVER_H
#define EXPLORE_SERVER_H

#include "answers.h"

typedef struct server server;

typedef struct server_options {
    const char *address; /* "127.0.0.1" */
    int port;            /* 0: any that is free */
} server_options;

/* Starts to answer from threads of its own; `e` outlives it. Returns an exit status. */
int server_start(server **out, explorer *e, const server_options *options);
void server_stop(server *s);                 /* waits for the requests under way */
const char *server_address(const server *s); /* "http://127.0.0.1:41234/TOKEN/" */
int server_is_loopback(const char *address); /* -1: not an address */

#endif
