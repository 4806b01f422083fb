/* Highest-density sets of one column: the smallest set that holds a share of the samples, as intervals, of
 * which a column with several modes has several. */
#ifndef JF_INFERENCE_HPD_H
#define JF_INFERENCE_HPD_H

#include "base/context.h"
#include "types/support.h"

#define HPD_MAX_LEVELS 16
#define HPD_MAX_PARTS  16 /* of more, those with the narrowest gaps become one */

typedef struct hpd_part {
    double lo, hi; /* of a circle hi may lie beyond its end: the interval goes on at its beginning */
} hpd_part;
typedef struct hpd_set {
    int count;
    hpd_part parts[HPD_MAX_PARTS]; /* ascending */
} hpd_set;

/* For each of `levels` masses in (0, 1), at most HPD_MAX_LEVELS, the set that holds this share of n ascending
 * samples. The density is estimated with a Gaussian kernel, reflected at bounds and wrapped around circles;
 * of whole numbers the most frequent ones are taken. support NULL: the line. */
jf_status hpd_of_column(jf_context *ctx, size_t n, const double *sorted, const column_support *support,
                        int levels, const double *masses, hpd_set *out);

#endif
