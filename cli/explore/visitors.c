#include "visitors.h"
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

enum {
    MOST = 64,            /* connections at a time, of which a browser holds six */
    MOST_OF_ADDRESS = 32, /* from one address */
    UNKNOWN_SECONDS = 10  /* until the token is there */
};

typedef struct visitor {
    int used, fd;
    unsigned char address[8]; /* of version 6 the network alone, which belongs to one client */
    int known, leaving;       /* leaving: shut down, the server will notice */
    double since;             /* which the time for a request counts from; 0: it does not run */
} visitor;

struct visitors {
    pthread_mutex_t lock;
    pthread_cond_t ending;
    pthread_t thread; /* ends what is late */
    int ends;
    visitor all[VISITORS_ROOM];
};

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The server finds an end of file there, and closes the connection itself: `fd` is valid until it says so. */
static void dismiss(visitor *p) {
    shutdown(p->fd, SHUT_RDWR);
    p->leaving = 1;
}

/* ---- time ---- */

/* Bytes that have come and were not read yet: the server is late, not the client. */
static int has_unread(const visitor *p) {
    int count = 0;
    return ioctl(p->fd, FIONREAD, &count) == 0 && count > 0;
}

static int is_late(const visitor *p, double now) {
    return p->used && !p->leaving && p->since > 0 &&
           now - p->since > (p->known ? VISITORS_IDLE : UNKNOWN_SECONDS) && !has_unread(p);
}

static void *watch_time(void *user) {
    visitors *v = user;
    pthread_mutex_lock(&v->lock);
    while (!v->ends) {
        double now = now_seconds();
        for (visitor *p = v->all; p < v->all + VISITORS_ROOM; p++)
            if (is_late(p, now)) dismiss(p);
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&v->ending, &v->lock, &until);
    }
    pthread_mutex_unlock(&v->lock);
    return NULL;
}

/* ---- room ---- */

static int same_address(const visitor *p, const visitor *q) {
    return memcmp(p->address, q->address, sizeof p->address) == 0;
}

/* Closes one connection where there are more than `most`, in all or from the new one's address: the oldest
 * unknown one, or the new one. */
static void make_room(visitors *v, visitor *added, int most, int of_address) {
    visitor *oldest = added;
    int count = 0;
    for (visitor *p = v->all; p < v->all + VISITORS_ROOM; p++) {
        if (!p->used || p->leaving || (of_address && !same_address(p, added))) continue;
        count++;
        if (!p->known && p->since < oldest->since) oldest = p;
    }
    if (count > most) dismiss(oldest);
}

static void write_address(visitor *p, const struct sockaddr *a) {
    if (a && a->sa_family == AF_INET)
        memcpy(p->address, &((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
    if (a && a->sa_family == AF_INET6)
        memcpy(p->address, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, sizeof p->address);
}

static void add_visitor(visitors *v, struct MHD_Connection *connection, void **own) {
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *address =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    visitor *p = v->all;
    while (p < v->all + VISITORS_ROOM && p->used) p++;
    *own = NULL;
    if (p == v->all + VISITORS_ROOM || !fd) return; /* the server holds no more than that */
    *p = (visitor){.used = 1, .fd = fd->connect_fd, .since = now_seconds()};
    write_address(p, address ? address->client_addr : NULL);
    *own = p;
    make_room(v, p, MOST_OF_ADDRESS, 1);
    if (!p->leaving) make_room(v, p, MOST, 0);
}

/* ---- what the server tells ---- */

void visitors_notice(void *user, struct MHD_Connection *connection, void **own,
                     enum MHD_ConnectionNotificationCode what) {
    visitors *v = user;
    pthread_mutex_lock(&v->lock);
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        add_visitor(v, connection, own);
    else if (*own)
        ((visitor *)*own)->used = 0;
    pthread_mutex_unlock(&v->lock);
}

/* Sets from when on the time of a visitor counts; `known`: it has shown the token. */
static void set_since(visitors *v, struct MHD_Connection *connection, double since, int known) {
    const union MHD_ConnectionInfo *own =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    visitor *p = own ? own->socket_context : NULL;
    if (!p) return;
    pthread_mutex_lock(&v->lock);
    p->known |= known;
    if (p->known) p->since = since;
    pthread_mutex_unlock(&v->lock);
}

void visitors_begin(visitors *v, struct MHD_Connection *connection) {
    set_since(v, connection, now_seconds(), 1);
}

void visitors_complete(visitors *v, struct MHD_Connection *connection) {
    set_since(v, connection, 0, 0);
}

void visitors_answered(visitors *v, struct MHD_Connection *connection) {
    set_since(v, connection, now_seconds(), 0);
}

/* ---- start and end ---- */

visitors *visitors_create(void) {
    visitors *v = calloc(1, sizeof *v);
    if (!v) return NULL;
    pthread_mutex_init(&v->lock, NULL);
    pthread_cond_init(&v->ending, NULL);
    if (pthread_create(&v->thread, NULL, watch_time, v) == 0) return v;
    pthread_cond_destroy(&v->ending);
    pthread_mutex_destroy(&v->lock);
    free(v);
    return NULL;
}

void visitors_free(visitors *v) {
    if (!v) return;
    pthread_mutex_lock(&v->lock);
    v->ends = 1;
    pthread_cond_signal(&v->ending);
    pthread_mutex_unlock(&v->lock);
    pthread_join(v->thread, NULL);
    pthread_cond_destroy(&v->ending);
    pthread_mutex_destroy(&v->lock);
    free(v);
}
