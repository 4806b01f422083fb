/* A look at a table before it is trained on: values that spoil the standardisation or the held-out loss, and rows that
 * are there more than once. Linear in the rows. */
#include "base/memory.h"
#include "base/number.h"
#include "data/sets/table.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Less is rounding: a double has 16 digits. */
#define LEAST_VARIATION 1e-13
/* Held-out values that are at least so far off, and further than any row to train on could be, are worth a word. */
#define FAR_OFF 10.0
/* With fewer rows than this, one of them has a large share in everything. */
#define ENOUGH_ROWS 20

/* ---- columns ---- */

static double value_at(const dataset *d, long row, int column) {
    const table *own = d->own;
    return column < d->dim_x ? own->x[row * d->dim_x + column] : own->y[row * d->dim_y + column - d->dim_x];
}

/* In deviations from the mean of the rows to train on. */
static double standardised(const dataset *d, long row, int column) {
    return (value_at(d, row, column) - d->mean[column]) / d->deviation[column];
}

/* Of the rows from .. to-1 the one that is furthest off. */
static long furthest(const dataset *d, int column, long from, long to) {
    long most = from;
    for (long row = from; row < to; row++)
        if (fabs(standardised(d, row, column)) > fabs(standardised(d, most, column))) most = row;
    return most;
}

/* FILE: row 17, column 2 ("height") is 1e+40 */
static const char *found_at(const dataset *d, long row, int column, char *out, size_t size) {
    const table *own = d->own;
    const char *name = own->names[column];
    number_print(out, size, "%s: row %ld, column %d%s%s%s is %g", own->path, table_file_row(d, row) + 1,
                 column + 1, name ? " (\"" : "", name ? name : "", name ? "\")" : "",
                 value_at(d, row, column));
    return out;
}

/* The largest of n standardised values is sqrt(n - 1) at most, which is when all others are equal. */
static void examine_trained(const dataset *d, int column) {
    char found[512];
    long row = furthest(d, column, 0, d->rows);
    double share = pow(standardised(d, row, column), 2) / (double)d->rows;
    if (d->rows >= ENOUGH_ROWS && share > 0.5)
        jf_warn(d->ctx,
                "%s and alone makes up %.3g%% of the column's variance: beside it all other rows become "
                "nearly the "
                "same number; correct it, leave the row out, or train on the column's logarithm",
                found_at(d, row, column, found, sizeof found), 100 * share);
    if (d->deviation[column] < LEAST_VARIATION * fabs(d->mean[column]))
        jf_warn(d->ctx, "%s and the column varies by %g only, which is rounding: leave it out",
                found_at(d, 0, column, found, sizeof found), d->deviation[column]);
}

static jf_status examine_held_out(const dataset *d, int column) {
    char found[512];
    if (d->held == 0) return JF_OK;
    long row = furthest(d, column, d->rows, d->rows + d->held);
    double off = standardised(d, row, column), most = sqrt(FLT_MAX);
    if (!(fabs(off) < most))
        return jf_fail(
            d->ctx, JF_ERROR_DATA,
            "%s, %g deviations away from the mean of the rows to train on; expected at most %.2g, of which "
            "a float holds the square: correct it or leave the row out",
            found_at(d, row, column, found, sizeof found), off, most);
    if (fabs(off) > FAR_OFF && off * off > (double)d->rows)
        jf_warn(d->ctx,
                "%s and held out, %.3g deviations away from the mean of the rows to train on: it outweighs "
                "the others "
                "in the held-out loss, by which training stops; correct it or leave the row out",
                found_at(d, row, column, found, sizeof found), off);
    return JF_OK;
}

/* ---- rows that are there more than once ---- */

typedef struct copies {
    long count;        /* rows that equal an earlier one */
    long held;         /* of these, held out while the earlier one is trained on */
    long row, earlier; /* the first of them */
} copies;

static uint64_t hash_numbers(uint64_t hash, const double *values, int count) {
    for (int i = 0; i < count; i++) {
        double value = values[i] == 0 ? 0 : values[i]; /* -0 is 0 */
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

static int same_numbers(const double *a, const double *b, int count) {
    for (int i = 0; i < count; i++)
        if (a[i] != b[i]) return 0;
    return 1;
}

static int same_rows(const dataset *d, long a, long b) {
    const table *own = d->own;
    return same_numbers(own->x + a * d->dim_x, own->x + b * d->dim_x, d->dim_x) &&
           same_numbers(own->y + a * d->dim_y, own->y + b * d->dim_y, d->dim_y);
}

/* `slots` (mask + 1): rows + 1 by their hash, 0: free. */
static void count_copies(const dataset *d, long *slots, size_t mask, copies *out) {
    const table *own = d->own;
    for (long row = 0; row < d->rows + d->held; row++) {
        uint64_t hash = hash_numbers(0, own->x + row * d->dim_x, d->dim_x);
        size_t at = (size_t)hash_numbers(hash, own->y + row * d->dim_y, d->dim_y) & mask;
        while (slots[at] && !same_rows(d, slots[at] - 1, row)) at = (at + 1) & mask;
        if (!slots[at]) {
            slots[at] = row + 1;
            continue;
        }
        if (out->count++ == 0) {
            out->row = row;
            out->earlier = slots[at] - 1;
        }
        out->held += row >= d->rows && slots[at] - 1 < d->rows;
    }
}

static jf_status examine_copies(const dataset *d) {
    const table *own = d->own;
    long rows = d->rows + d->held, *slots;
    size_t size = 2;
    copies c = {0};
    while (size < 2 * (size_t)rows) size *= 2;
    JF_TRY(MEM_NEW(d->ctx, &slots, size));
    count_copies(d, slots, size - 1, &c);
    free(slots);
    char held[160] = "";
    if (c.held)
        number_print(held, sizeof held,
                     "; %ld of them are held out while their like is trained on, which makes the held-out "
                     "loss look better "
                     "than it is",
                     c.held);
    if (c.count)
        jf_warn(d->ctx,
                "%s: %ld of %ld rows are copies of others, such as row %ld of row %ld%s; remove them, or "
                "where values "
                "repeat by their nature set train.noise, since a density has no bound at them",
                own->path, c.count, rows, table_file_row(d, c.row) + 1, table_file_row(d, c.earlier) + 1,
                held);
    return JF_OK;
}

jf_status table_examine(const dataset *d) {
    for (int column = 0; column < dataset_dim(d); column++) {
        examine_trained(d, column);
        JF_TRY(examine_held_out(d, column));
    }
    return examine_copies(d);
}
