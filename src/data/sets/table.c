/* A table from a file (.csv or .npy): the first `x` columns are x, the next `y` columns are y, further ones
 * are not used. Each row is one pair.
 *
 * Invariant: what is kept is finite and no column of it is constant, so it can be standardised. */
#include "data/sets/table.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/permutation.h"
#include "io/checksum.h"
#include "io/csv.h"
#include "io/npy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const recipe_key keys[] = {
    {"data", "file", KEY_TEXT, NULL, 0, 0, NULL,
     "The table, a .csv or .npy file with one pair (x, y) a row."},
    {"data", "x", KEY_INT, NULL, 1, DATASET_MAX_NAMES, NULL, "How many of the leading columns are x."},
    {"data", "y", KEY_INT, NULL, 0, DATASET_MAX_NAMES - 1, NULL, "How many of the columns after x are y."},
    {"data", "discrete", KEY_BOOL, "no", 0, 0, NULL, "The values of y are classes; y is then one column."},
    {"data", "validation", KEY_REAL, "0.1", 0, 0.9, NULL,
     "Share of the rows that is held out: training stops by their loss, and the model is judged on them."},
    {0}};

#define SPLIT_SEED                                                                                           \
    20220112 /* which rows are held out is the same for every run, so that runs can be compared */

/* A file as it was read. */
typedef struct sheet {
    char *path;
    const double *values; /* (rows, columns), of csv or npy */
    size_t rows, columns;
    char **names; /* (columns), of csv, or NULL */
    csv_table csv;
    double *npy;
} sheet;

static void sheet_free(sheet *s) {
    csv_free(&s->csv);
    free(s->npy);
    free(s->path);
}

/* ---- reading ---- */

static jf_status read_csv(jf_context *ctx, sheet *s) {
    JF_TRY(csv_read(ctx, s->path, &s->csv));
    s->values = s->csv.values;
    s->rows = s->csv.rows;
    s->columns = s->csv.columns;
    s->names = s->csv.names;
    return JF_OK;
}

static jf_status read_npy(jf_context *ctx, sheet *s) {
    int rank;
    size_t shape[NPY_MAX_RANK];
    JF_TRY(npy_read(ctx, s->path, &s->npy, &rank, shape));
    if (rank != 2) {
        return jf_fail(ctx, JF_ERROR_SHAPE, "%s: the array has %d dimension%s, expected 2 (rows, columns)",
                       s->path, rank, rank == 1 ? "" : "s");
    }
    s->values = s->npy;
    s->rows = shape[0];
    s->columns = shape[1];
    return JF_OK;
}

static jf_status read_sheet(jf_context *ctx, sheet *s, const recipe *r) {
    JF_TRY(file_find_data(ctx, &s->path, recipe_get(r, "data.file")));
    const char *extension = file_extension(s->path);
    if (strcmp(extension, ".csv") == 0) return read_csv(ctx, s);
    if (strcmp(extension, ".npy") == 0) return read_npy(ctx, s);
    return recipe_fail(r, "data.file", "found \"%s\", which ends in \"%s\", expected .csv or .npy", s->path,
                       extension);
}

/* ---- checking ---- */

/* column 2 ("height"), counted from 1 as people do */
static const char *column_text(const sheet *s, size_t column, char *out, size_t size) {
    if (s->names) {
        number_print(out, size, "column %zu (\"%s\")", column + 1, s->names[column]);
    } else {
        number_print(out, size, "column %zu", column + 1);
    }
    return out;
}

static jf_status check_sizes(const dataset *d, const sheet *s, const recipe *r) {
    int used = d->dim_x + d->dim_y;
    if (used > DATASET_MAX_NAMES) {
        return recipe_fail(r, "data.y", "x and y have %d columns together, expected at most %d", used,
                           DATASET_MAX_NAMES);
    }
    if (recipe_bool(r, "data.discrete") && d->dim_y != 1) {
        return recipe_fail(
            r, "data.y", "found %d columns, expected 1 since data.discrete says that y is a class", d->dim_y);
    }
    if (s->columns < (size_t)used) {
        return jf_fail(d->ctx, JF_ERROR_SHAPE,
                       "%s: found %zu columns, expected at least %d (%d of x, then %d of y)", s->path,
                       s->columns, used, d->dim_x, d->dim_y);
    }
    if (s->rows < 2) {
        return jf_fail(d->ctx, JF_ERROR_SHAPE, "%s: found %zu rows, expected at least 2", s->path, s->rows);
    }
    return JF_OK;
}

static jf_status check_column(const dataset *d, const sheet *s, size_t column) {
    char where[128];
    int constant = 1;
    for (size_t row = 0; row < s->rows; row++) {
        double value = s->values[row * s->columns + column];
        if (!isfinite(value)) {
            return jf_fail(d->ctx, JF_ERROR_DATA, "%s: row %zu, %s is %g, expected a finite number", s->path,
                           row + 1, column_text(s, column, where, sizeof where), value);
        }
        if (value != s->values[column]) constant = 0;
    }
    if (constant) {
        return jf_fail(d->ctx, JF_ERROR_DATA,
                       "%s: %s is %g in all %zu rows; a constant column cannot be standardised, leave it out",
                       s->path, column_text(s, column, where, sizeof where), s->values[column], s->rows);
    }
    return JF_OK;
}

/* ---- keeping ---- */

/* Moves the columns of row `from` of the sheet to row `to` of what is kept. */
static void copy_row(const dataset *d, const sheet *s, size_t from, size_t to) {
    table *own = d->own;
    size_t nx = (size_t)d->dim_x, ny = (size_t)d->dim_y;
    const double *row = s->values + from * s->columns;
    memcpy(own->x + to * nx, row, nx * sizeof *row);
    memcpy(own->y + to * ny, row + nx, ny * sizeof *row);
}

/* Which rows are held out: those whose shuffled place is among the first. */
static permutation split_places(size_t rows) {
    return permutation_create((rng_key){SPLIT_SEED, RNG_SHUFFLE, 0}, 0, rows);
}

long table_file_row(const dataset *d, long row) {
    long rows = d->rows + d->held, at = 0;
    permutation places = split_places((size_t)rows);
    int held = row >= d->rows;
    long before = held ? row - d->rows : row; /* rows of the same part that come before it in the file */
    for (; at < rows; at++) {
        int is_held = permutation_at(&places, (uint64_t)at) < (uint64_t)d->held;
        if (is_held == held && before-- == 0) break;
    }
    return at;
}

/* Both parts stay in the order of the file. */
static jf_status keep(dataset *d, const sheet *s, double validation) {
    table *own = d->own;
    size_t nx = (size_t)d->dim_x, ny = (size_t)d->dim_y;
    JF_TRY(MEM_NEW(d->ctx, &own->x, s->rows * nx));
    JF_TRY(MEM_NEW(d->ctx, &own->y, s->rows * ny + 1)); /* never of size 0 */
    d->held = (long)(validation * (double)s->rows);
    d->rows = (long)s->rows - d->held;
    permutation places = split_places(s->rows);
    size_t trained = 0, held = (size_t)d->rows;
    for (size_t row = 0; row < s->rows; row++)
        copy_row(d, s, row, permutation_at(&places, row) < (uint64_t)d->held ? held++ : trained++);
    for (size_t i = 0; s->names && i < nx + ny; i++) {
        JF_TRY(mem_copy_text(d->ctx, &own->names[i], s->names[i]));
        if (i < nx) {
            d->x_names[i] = own->names[i];
        } else {
            d->y_names[i - nx] = own->names[i];
        }
    }
    return JF_OK;
}

/* The distinct values of y, ascending, become the labels. */
static jf_status find_classes(dataset *d, const sheet *s) {
    table *own = d->own;
    for (long row = 0; row < d->rows + d->held; row++) {
        double y = own->y[row];
        int k = 0;
        while (k < d->classes && d->label[k] < y) k++;
        if (k < d->classes && d->label[k] == y) continue;
        if (d->classes == MAX_CLASSES) {
            return jf_fail(d->ctx, JF_ERROR_DATA,
                           "%s: y has more than %d different values by row %ld, expected at most %d since "
                           "data.discrete says that it is a class",
                           s->path, MAX_CLASSES, row + 1, MAX_CLASSES);
        }
        memmove(d->label + k + 1, d->label + k, (size_t)(d->classes - k) * sizeof *d->label);
        d->label[k] = y;
        d->classes++;
    }
    for (int k = 0; k < d->classes; k++) {
        number_print(own->class_text[k], sizeof own->class_text[k], "%.10g", d->label[k]);
        d->class_name[k] = own->class_text[k];
    }
    return JF_OK;
}

/* ---- the kind ---- */

static jf_status table_open(dataset *d, const recipe *r) {
    table *own;
    JF_TRY(MEM_NEW(d->ctx, &own, 1));
    d->own = own;
    d->dim_x = recipe_int(r, "data.x");
    d->dim_y = recipe_int(r, "data.y");
    size_t used = (size_t)(d->dim_x + d->dim_y);
    sheet s = {.path = NULL};
    jf_status status;
    JF_TRY_DONE(read_sheet(d->ctx, &s, r));
    JF_TRY_DONE(check_sizes(d, &s, r));
    for (size_t column = 0; column < used; column++) JF_TRY_DONE(check_column(d, &s, column));
    JF_TRY_DONE(keep(d, &s, recipe_real(r, "data.validation")));
    JF_TRY_DONE(mem_copy_text(d->ctx, &own->path, s.path));
    if (recipe_bool(r, "data.discrete")) JF_TRY_DONE(find_classes(d, &s));
    if (s.columns > used) {
        jf_log(d->ctx, "%s: the last %zu of %zu columns are not used", s.path, s.columns - used, s.columns);
    }
done:
    sheet_free(&s);
    return status;
}

static void table_fetch(const dataset *d, long row, rng *stream, double *scratch, double *x, double *y) {
    (void)stream, (void)scratch;
    const table *own = d->own;
    size_t nx = (size_t)d->dim_x, ny = (size_t)d->dim_y;
    memcpy(x, own->x + (size_t)row * nx, nx * sizeof *x);
    if (ny > 0) memcpy(y, own->y + (size_t)row * ny, ny * sizeof *y);
}

static int table_row_class(const dataset *d, long row) {
    const table *own = d->own;
    int k = 0;
    while (d->label[k] != own->y[row]) k++; /* find_classes has met them all */
    return k;
}

static void table_row_words(const dataset *d, long row, char *out, size_t size) {
    const table *own = d->own;
    number_print(out, size, "row %ld of %s", table_file_row(d, row) + 1, own->path);
}

static uint64_t table_add_to_checksum(const dataset *d, uint64_t sum) {
    const table *own = d->own;
    size_t rows = (size_t)(d->rows + d->held);
    sum = checksum_add(sum, own->x, rows * (size_t)d->dim_x * sizeof *own->x);
    return checksum_add(sum, own->y, rows * (size_t)d->dim_y * sizeof *own->y);
}

static void table_close(dataset *d) {
    table *own = d->own;
    if (!own) return;
    free(own->path);
    free(own->x);
    free(own->y);
    for (int i = 0; i < DATASET_MAX_NAMES; i++) free(own->names[i]);
    free(own);
}

const dataset_kind dataset_table = {
    .name = "table",
    .summary = "the rows of a .csv or .npy file",
    .keys = keys,
    .open = table_open,
    .close = table_close,
    .fetch = table_fetch,
    .row_class = table_row_class,
    .add_to_checksum = table_add_to_checksum,
    .row_words = table_row_words,
    .examine = table_examine,
};
