/* Limits on connections and on their time, so that slow clients do not keep others out.
 *
 * A visitor is unknown until a request with the token has begun. An unknown one has a few seconds for the
 * head of such a request, however it spreads its bytes, and is the first to go where one address, or all
 * together, hold more connections than they may: a new connection takes the place of the oldest unknown one.
 * A known one has more time for each request, none runs while it is answered, and it makes room for nobody.
 */
#ifndef EXPLORE_VISITORS_H
#define EXPLORE_VISITORS_H

#include <microhttpd.h>

enum {
    VISITORS_ROOM =
        128, /* connections of the server, of which those beyond the limits are about to be closed */
    VISITORS_IDLE = 30 /* seconds for a known visitor between two answers */
};

typedef struct visitors visitors;
visitors *visitors_create(void); /* NULL: no memory or no thread */
void visitors_free(visitors *v); /* after the server has ended */
/* For MHD_OPTION_NOTIFY_CONNECTION, with the visitors as its user. */
void visitors_notice(void *user, struct MHD_Connection *connection, void **own,
                     enum MHD_ConnectionNotificationCode what);
/* A request with the token has begun, is complete, or has been answered. */
void visitors_begin(visitors *v, struct MHD_Connection *connection);
void visitors_complete(visitors *v, struct MHD_Connection *connection);
void visitors_answered(visitors *v, struct MHD_Connection *connection);

#endif
