/* Fetching one file from the first of several mirrors that has it, by http, https or from a file. */
#ifndef JF_IO_DOWNLOAD_H
#define JF_IO_DOWNLOAD_H

#include "base/context.h"
#include <stdint.h>

typedef struct download {
    const char *const *urls; /* (url_count), tried in this order */
    int url_count;
    uint64_t limit; /* bytes that the file may have */
    double
        stall_seconds; /* without a byte, after which a mirror is given up; 0: 30. No limit on the whole. */
    /* Is the fetched file, still under the name `path`, the right one? JF_ERROR_DATA and JF_ERROR_FORMAT
     * send us to the next mirror; other failures end the download. */
    jf_status (*check)(jf_context *ctx, const char *path, const void *check_user);
    const void *check_user;
    /* Also before the first byte and while nothing comes; non-zero: stop. total 0: not known. May be NULL. */
    int (*progress)(void *user, uint64_t bytes, uint64_t total);
    void *user;
} download;

/* Fetches into `path`, whose folder exists. What comes in lies in `path`.part, from where a later call goes
 * on; what was at `path` before is replaced when the new file is whole and right. JF_STOPPED where `progress`
 * asked for it. A failure names what went wrong with every mirror. */
jf_status download_file(jf_context *ctx, const char *path, const download *d);

int download_is_url(const char *text); /* begins with http://, https:// or file:// */

#endif
