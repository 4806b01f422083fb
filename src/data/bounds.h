/* Reads the supports of columns from text, and infers supports from values.
 *
 *     "a=0:1, b=0:, c=:5, d=circle:0:6.2832, e=whole:0:10, f=whole, x=-3:3, g=none"
 *
 * A name is that of a column, x0, y2 and so on, or x or y for all of them; later entries win. */
#ifndef JF_DATA_BOUNDS_H
#define JF_DATA_BOUNDS_H

#include "data/dataset.h"

/* Fills in d->support from the recipe's key; names and dimensions of the set have to be known. Leaves it NULL
 * where the text names none. */
jf_status bounds_parse(dataset *d, const recipe *r, const char *key);

/* Statistics of a column's values. */
typedef struct column_look {
    double lo, hi; /* least and greatest */
    double gap_lo,
        gap_hi; /* mean distance between neighbours below and above; 0: the density falls off there */
    long rows;
    int whole; /* all are whole numbers */
} column_look;
enum { LOOK_SAMPLE = 4096 }; /* values that look_edges() needs at most */
void look_begin(column_look *look);
void look_range(column_look *look, double value); /* each value */
/* Then some or all of the values, from rows at even distances; sorts them. */
void look_edges(column_look *look, double *values, long count);
/* An interval whose density does not fall off towards either edge, as of a uniform prior: *found is then 1,
 * and the bounds are the roundest numbers that fit.
 *
 * Error rates, measured on 20,000 columns of a kind: at most 1 in 1,000 columns of one to three modes, such
 * as normal or exponential ones, is taken for an interval. At least 95% of uniform columns of 300 rows are
 * found, and all of 1,000. Columns of fewer than 300 rows are never taken for one. */
column_support look_interval(const column_look *look, int *found);
/* Suggests a support that the user may have forgotten to declare; "": none. */
const char *look_hint(jf_context *ctx, const column_look *look, const char *name, char *out, size_t size);

#endif
