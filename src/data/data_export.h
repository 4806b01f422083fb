/* Points of generated sets, and of their exact posteriors, as tables in files. */
#ifndef JF_DATA_DATA_EXPORT_H
#define JF_DATA_DATA_EXPORT_H

#include "data/dataset.h"

/* A generated set by its name, with its defaults; the names of others are refused with those that there are.
 */
jf_status export_open(jf_context *ctx, dataset **out, const char *set, jf_status (*declare_all)(recipe *r));

typedef struct export_files {
    const char *both;  /* x, then y; or */
    const char *x, *y; /* each its own */
} export_files;
jf_status export_rows(const dataset *d, uint64_t seed, long rows, const export_files *to);
/* `rows` samples for each of the `count` rows of y (count, dim_y). */
jf_status export_posterior(const dataset *d, uint64_t seed, long rows, size_t count, const double *y,
                           const char *path);

#endif
