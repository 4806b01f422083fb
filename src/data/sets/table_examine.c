/* A look at a table before it is trained on: values that spoil the standardisation or the held-out loss,
 * columns that follow from others (table_leaks.c), and rows that are there more than once. Linear in the
 * rows. */
#include "base/memory.h"
#include "base/number.h"
#include "data/sets/table.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Less is rounding: a double has 16 digits. */
#define LEAST_VARIATION 1e-13
/* Held-out values that are at least so far off, and further than any row to train on could be, are worth a
 * word. */
#define FAR_OFF 10.0
/* With fewer rows than this, one of them has a large share in everything. */
#define ENOUGH_ROWS 20
/* Copies are looked for among so many rows, spread evenly, at most: their table takes 16 to 32 bytes for
 * each. */
#define MOST_COMPARED 4000000

/* ---- columns ---- */

/* Where a column is furthest from its mean, in deviations, among the rows to train on (0) and those held out
 * (1). */
typedef struct furthest {
    long row[2];
    double off[2];
    long others; /* held-out rows with another value than the constant that it is in all rows to train on */
} furthest;

/* All columns but that of classes, which are counted instead. */
static int examined(const dataset *d) {
    return d->planes ? d->dim_x : dataset_dim(d);
}

/* One walk through the rows, so that a file larger than memory is read once; row: scratch (dim). */
static void find_furthest(const dataset *d, double *row, furthest *columns) {
    for (long at = 0; at < d->rows + d->validation_rows; at++) {
        int validation = at >= d->rows;
        table_take(d, at, row, row + d->dim_x);
        for (int i = 0; i < examined(d); i++) {
            if (dataset_is_constant(d, i)) {
                columns[i].others += row[i] != d->support[i].lo;
                continue;
            }
            double t = d->support ? support_to_line(&d->support[i], row[i]) : row[i];
            double off = (t - d->mean[i]) / d->deviation[i];
            if (at != (validation ? d->rows : 0) && !(fabs(off) > fabs(columns[i].off[validation]))) continue;
            columns[i].off[validation] = off;
            columns[i].row[validation] = at;
        }
    }
}

static double value_at(const dataset *d, long row, int column) {
    const table *own = d->own;
    int is_x = column < d->dim_x;
    return row_file_value(is_x ? own->x_file : own->y_file, (size_t)table_file_row(d, row),
                          is_x ? own->x_columns[column] : own->y_columns[column - d->dim_x]);
}

/* FILE: row 17, column 2 ("height") is 1e+40 */
static const char *found_at(const dataset *d, long row, int column, char *out, size_t size) {
    char place[480];
    format_text(out, size, "%s is %g",
                table_place(d, (size_t)table_file_row(d, row), column, place, sizeof place),
                value_at(d, row, column));
    return out;
}

/* The largest of n standardised values is sqrt(n - 1) at most, which is when all others are equal. */
static void examine_trained(const dataset *d, int column, const furthest *most) {
    char found[512];
    double share = pow(most->off[0], 2) / (double)d->rows;
    if (d->rows >= ENOUGH_ROWS && share > 0.5)
        jf_warn(d->ctx,
                "%s and alone makes up %.3g%% of the column's variance: beside it all other rows become "
                "nearly the "
                "same number; correct it, leave the row out, or train on the column's logarithm",
                found_at(d, most->row[0], column, found, sizeof found), 100 * share);
    if (d->deviation[column] < LEAST_VARIATION * fabs(d->mean[column]))
        jf_warn(d->ctx, "%s and the column varies by %g only, which is rounding: leave it out",
                found_at(d, 0, column, found, sizeof found), d->deviation[column]);
}

static jf_status examine_validation(const dataset *d, int column, const furthest *worst) {
    char found[512];
    if (d->validation_rows == 0) return JF_OK;
    double off = worst->off[1], most = sqrt(FLT_MAX);
    if (!(fabs(off) < most))
        return jf_fail(
            d->ctx, JF_ERROR_DATA,
            "%s, %g deviations away from the mean of the rows to train on; expected at most %.2g, of which "
            "a float holds the square: correct it or leave the row out",
            found_at(d, worst->row[1], column, found, sizeof found), off, most);
    if (fabs(off) > FAR_OFF && off * off > (double)d->rows)
        jf_warn(d->ctx,
                "%s and held out, %.3g deviations away from the mean of the rows to train on: it outweighs "
                "the others "
                "in the held-out loss, by which training stops; correct it or leave the row out",
                found_at(d, worst->row[1], column, found, sizeof found), off);
    return JF_OK;
}

/* The constant columns from element `from` to `to` - 1, in one sentence. */
static void tell_constants(const dataset *d, int from, int to, const furthest *columns, const char *words) {
    long others = 0;
    int count = 0, first = -1;
    char place[512], more[64] = "", held_out[128] = "";
    for (int i = from; i < to; i++) {
        if (!dataset_is_constant(d, i)) continue;
        if (count++ == 0) first = i;
        if (columns[i].others > others) others = columns[i].others;
    }
    if (count == 0) return;
    if (count > 1)
        format_text(more, sizeof more, ", as %d other column%s", count - 1, count > 2 ? "s are" : " is");
    if (others > 0)
        format_text(held_out, sizeof held_out, "; %ld held-out row%s another value, which is ignored", others,
                    others > 1 ? "s have" : " has");
    jf_warn(d->ctx, "%s, the same number in all %ld rows to train on%s: %s%s",
            found_at(d, 0, first, place, sizeof place), d->rows, more, words, held_out);
}

static jf_status examine_columns(const dataset *d) {
    size_t dim = (size_t)dataset_dim(d);
    double *row;
    furthest *columns = NULL;
    jf_status status;
    JF_TRY(MEM_NEW(d->ctx, &row, dim));
    JF_TRY_DONE(MEM_NEW(d->ctx, &columns, dim));
    find_furthest(d, row, columns);
    tell_constants(d, 0, d->dim_x, columns,
                   "samples reproduce it, and densities are those of the other columns of x");
    tell_constants(d, d->dim_x, (int)dim, columns,
                   "y does not depend on it, so the model leaves it out; conditions still give it");
    for (int i = 0; i < examined(d); i++) {
        if (dataset_is_constant(d, i)) continue;
        examine_trained(d, i, &columns[i]);
        JF_TRY_DONE(examine_validation(d, i, &columns[i]));
    }
done:
    free(row);
    free(columns);
    return status;
}

/* ---- rows that are there more than once ---- */

typedef struct copies {
    long count;           /* rows that equal an earlier one */
    long validation_rows; /* of these, held out while the earlier one is trained on */
    long row, earlier;    /* the first of them */
} copies;

static uint64_t hash_numbers(const double *values, int count) {
    uint64_t hash = 0;
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

/* `slots` (mask + 1): rows + 1 by their hash, 0: free; of the set's rows every `step`-th. row, other: scratch
 * (dim). */
static void count_copies(const dataset *d, long step, long *slots, size_t mask, double *row, double *other,
                         copies *out) {
    int dim = table_columns(d);
    for (long at = 0; at < d->rows + d->validation_rows; at += step) {
        table_take(d, at, row, row + d->dim_x);
        size_t slot = (size_t)hash_numbers(row, dim) & mask;
        for (; slots[slot]; slot = (slot + 1) & mask) {
            table_take(d, slots[slot] - 1, other, other + d->dim_x);
            if (same_numbers(row, other, dim)) break;
        }
        if (!slots[slot]) {
            slots[slot] = at + 1;
            continue;
        }
        if (out->count++ == 0) {
            out->row = at;
            out->earlier = slots[slot] - 1;
        }
        out->validation_rows += at >= d->rows && slots[slot] - 1 < d->rows;
    }
}

static void tell_copies(const dataset *d, const copies *c, long looked_at) {
    char held_out[160] = "", of[64] = "";
    if (c->count == 0) return;
    if (c->validation_rows)
        format_text(held_out, sizeof held_out,
                    "; %ld of them are held out while their like is trained on, which makes the held-out "
                    "loss look better "
                    "than it is",
                    c->validation_rows);
    if (looked_at < d->rows + d->validation_rows) format_text(of, sizeof of, " that were looked at");
    jf_warn(d->ctx,
            "%s: %ld of %ld rows%s are copies of others, such as row %ld of row %ld%s; remove them, or "
            "where values "
            "repeat by their nature set train.noise, since a density has no bound at them",
            row_file_path(((const table *)d->own)->x_file), c->count, looked_at, of,
            table_file_row(d, c->row) + 1, table_file_row(d, c->earlier) + 1, held_out);
}

static jf_status examine_copies(const dataset *d) {
    long rows = d->rows + d->validation_rows, step = (rows + MOST_COMPARED - 1) / MOST_COMPARED, *slots;
    long looked_at = (rows + step - 1) / step;
    size_t size = 2, dim = (size_t)dataset_dim(d);
    double *row = NULL;
    copies c = {0};
    while (size < 2 * (size_t)looked_at) size *= 2;
    JF_TRY(MEM_NEW(d->ctx, &slots, size));
    jf_status status = MEM_NEW(d->ctx, &row, 2 * dim);
    if (status == JF_OK) {
        count_copies(d, step, slots, size - 1, row, row + dim, &c);
        tell_copies(d, &c, looked_at);
    }
    free(slots);
    free(row);
    return status;
}

jf_status table_examine(const dataset *d) {
    table_tell_missing(d);
    JF_TRY(examine_columns(d));
    JF_TRY(table_examine_leaks(d));
    return examine_copies(d);
}
