/* The known data sets: what their files are, whether they are here and right, and fetching them.
 *
 * A file is right if its content, decompressed where it lies compressed, has the published size and SHA-256.
 * A set lies in a folder; a file there is NAME or NAME.gz. */
#ifndef JF_DATA_KNOWN_H
#define JF_DATA_KNOWN_H

#include "base/memory.h"
#include "jointflow/jointflow.h"
#include <stdint.h>

enum { KNOWN_FILES = 4, KNOWN_MIRRORS = 2 };

typedef struct known_file {
    const char *name;
    uint64_t size; /* of the content */
    const char *sha256;
} known_file;

typedef struct known_set {
    const char *name, *about, *licence, *source;
    const char *mirrors[KNOWN_MIRRORS + 1]; /* what comes before NAME.gz; ends with NULL */
    known_file files[KNOWN_FILES + 1];      /* ends with {0}; none: the set is generated */
} known_set;

extern const known_set known_sets[]; /* ends with {0} */

/* NULL, with a message that lists the names, where there is none. */
const known_set *known_find(jf_context *ctx, const char *name);
jf_status known_verify(jf_context *ctx, const char *path, const known_file *file); /* JF_ERROR_DATA: wrong */

/* Each adds lines for people. */
jf_status known_list(jf_context *ctx, text *out);
/* One line per file of `folder`, or of the folders in it that are named like sets; *bad counts those that are
 * missing or wrong. */
jf_status known_check(jf_context *ctx, text *out, const char *folder, int *bad);

/* Fetches the files that are not there or wrong. */
jf_status known_fetch(jf_context *ctx, text *out, const known_set *set, const jf_fetch_options *options);

#endif
