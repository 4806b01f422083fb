/* A table from a file (.csv, .tsv, .txt or .npy), from one of x and one of y, or from memory
 * (io/memory_rows.h). By default the first `x` columns are x and the next `y` columns are y; data.columns
 * chooses others by their names. Each row is one pair.
 *
 * Rows stay where they are, in the file as it was read or mapped; which of them are left out or held out is a
 * bit each. So data larger than memory work. Invariant: what is used is finite. */
#include "data/sets/table.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/bounds.h"
#include "data/named.h"
#include "io/checksum.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS 1000000
#define ROWS_A_POLL  4096

static const recipe_key keys[] = {
    {"data", "file", KEY_TEXT, NULL, 0, 0, NULL,
     "The table, a .csv, .tsv, .txt or .npy file with one pair (x, y) a row; \"memory\" where a program gave "
     "its arrays "
     "instead."},
    {"data", "x", KEY_INT, NULL, 1, MOST_COLUMNS, NULL, "How many of the leading columns are x."},
    {"data", "y", KEY_INT, NULL, 0, MOST_COLUMNS, NULL, "How many of the columns after x are y."},
    {"data", "discrete", KEY_BOOL, "no", 0, 0, NULL, "The values of y are classes; y is then one column."},
    {"data", "validation", KEY_REAL, "0.1", 0, 0.9, NULL,
     "Share of the rows that is held out: training stops by their loss, and the model is judged on them."},
    {"data", "y_file", KEY_TEXT, "", 0, 0, NULL,
     "Where y has a file of its own, row by row beside that of x; data.x and data.y then count from the "
     "first column of each."},
    {"data", "columns", KEY_TEXT, "", 0, 0, NULL,
     "The columns of x, then those of y, by their names or numbers from 1, separated by commas; a name "
     "with a comma stands in double quotes. Empty: the leading ones."},
    {"data", "bounds", KEY_TEXT, "", 0, 0, NULL,
     "Where columns can be, and samples will be: a=0:1 (a logit map), a=cut:0:1 (for what fills it evenly: "
     "no map, samples beyond are drawn again), a=uniform:0:1 (the same by a probit map), b=0: or c=:5 (a "
     "logarithm), d=circle:0:6.2832 (wrapped), e=whole or e=whole:0:10 "
     "(dequantised and rounded back), f=none. A name is "
     "that of a column, x0, y0, ..., or x or y for all of them."},
    {"data", "one_hot", KEY_BOOL, "no", 0, 0, NULL,
     "With data.discrete: y has a column for each class, 1 in that of the row and 0 in the others, instead "
     "of "
     "the number of the class."},
    {"data", "classes", KEY_TEXT, "", 0, 0, NULL,
     "With data.discrete: the classes that y can have, by their values or names, separated by commas; a name "
     "with a comma stands in double quotes. Empty: those that are found."},
    {"data", "missing", KEY_CHOICE, "drop", 0, 0, "drop refuse",
     "Rows in which a value of x or y is missing (NaN, an empty field, NA, null, ?): drop leaves them out "
     "and "
     "counts them; refuse fails with the first of them."},
    {"data", "validation_rows", KEY_INT, "0", 0, 1e9, NULL,
     "So many rows at the end of the table are held out, in place of a share that is drawn from all of it "
     "(data.validation); 0: the share."},
    {0}};

/* ---- opening files ---- */

/* What a program gave together with the recipe; a recipe that was read from a file has none. */
static jf_status open_memory(const dataset *d, const recipe *r, row_file **out) {
    memory_rows *rows = recipe_rows(r);
    if (!rows)
        return recipe_fail(r, "data.file",
                           "found \"" MEMORY_ROWS_FILE "\": the rows were arrays of the program that trained "
                           "on them, expected that they are given again, or data of a file to test on");
    int dim_x = (int)memory_rows_columns_x(rows), dim_y = (int)memory_rows_columns(rows) - dim_x;
    if (dim_x != d->dim_x || dim_y != d->dim_y)
        return jf_fail(d->ctx, JF_ERROR_SHAPE,
                       "data in memory: found %d columns of x and %d of y, expected %d and %d", dim_x, dim_y,
                       d->dim_x, d->dim_y);
    return row_file_open_memory(d->ctx, out, rows);
}

static jf_status open_file(const dataset *d, const recipe *r, const char *key, row_file **out) {
    char *path;
    if (recipe_is(r, key, MEMORY_ROWS_FILE)) return open_memory(d, r, out);
    JF_TRY(named_find(r, key, &path));
    const char *extension = file_extension(path);
    jf_status status =
        row_file_is_text(path) || strcmp(extension, ".npy") == 0
            ? row_file_open(d->ctx, out, path)
            : recipe_fail(r, key, "found \"%s\", which ends in \"%s\", expected .csv, .tsv, .txt or .npy",
                          path, extension);
    free(path);
    return status;
}

static jf_status open_files(dataset *d, const recipe *r) {
    table *own = d->own;
    JF_TRY(open_file(d, r, "data.file", &own->x_file));
    own->y_file = own->x_file;
    if (recipe_get(r, "data.y_file")[0]) JF_TRY(open_file(d, r, "data.y_file", &own->y_file));
    size_t rows = row_file_rows(own->x_file), beside = row_file_rows(own->y_file);
    if (beside != rows)
        return jf_fail(d->ctx, JF_ERROR_SHAPE, "%s: found %zu rows, expected %zu as in %s, a row beside each",
                       row_file_path(own->y_file), beside, rows, row_file_path(own->x_file));
    if (rows < 2)
        return jf_fail(d->ctx, JF_ERROR_SHAPE, "%s: found %zu rows, expected at least 2",
                       row_file_path(own->x_file), rows);
    d->bytes = row_file_bytes(own->x_file);
    if (own->y_file != own->x_file) d->bytes += row_file_bytes(own->y_file);
    return JF_OK;
}

/* y that is a series or an image in its file is what the embedding takes it for. */
static jf_status check_axes(const dataset *d, const recipe *r) {
    const table *own = d->own;
    y_axes found = row_file_axes(own->y_file), given;
    char words[Y_AXES_WORDS];
    JF_TRY(row_file_check_flat(d->ctx, own->x_file));
    if (found.rank == 0 || recipe_is(r, "model.embed", "none")) return JF_OK;
    const char *shape = recipe_get(r, "model.embed_shape");
    if (!shape[0] && recipe_is(r, "model.embed", "dense")) return JF_OK;
    if (y_axes_parse(shape, &given) && y_axes_same(&given, &found)) return JF_OK;
    return recipe_fail(r, "model.embed_shape", "found \"%s\", expected %s, the sizes of y in %s", shape,
                       y_axes_words(&found, words), row_file_path(own->y_file));
}

/* ---- choosing columns ---- */

int table_columns(const dataset *d) {
    return d->dim_x + ((const table *)d->own)->y_count;
}

static const row_file *file_of(const dataset *d, int element, size_t *column) {
    const table *own = d->own;
    int is_x = element < d->dim_x;
    *column = is_x ? own->x_columns[element] : own->y_columns[element - d->dim_x];
    return is_x ? own->x_file : own->y_file;
}

/* The leading columns of one file: x, then y. */
static jf_status check_leading(const dataset *d, const row_file *f, int x, int y) {
    size_t columns = row_file_columns(f), used = (size_t)x + (size_t)y;
    if (columns < used)
        return jf_fail(d->ctx, JF_ERROR_SHAPE,
                       "%s: found %zu columns, expected at least %zu (%d of x, then %d of y)",
                       row_file_path(f), columns, used, x, y);
    if (columns > used)
        jf_log(d->ctx, "%s: the last %zu of %zu columns are not used", row_file_path(f), columns - used,
               columns);
    return JF_OK;
}

static jf_status take_leading(dataset *d) {
    table *own = d->own;
    int together = own->x_file == own->y_file;
    JF_TRY(check_leading(d, own->x_file, d->dim_x, together ? d->dim_y : 0));
    if (!together) JF_TRY(check_leading(d, own->y_file, 0, d->dim_y));
    for (int i = 0; i < d->dim_x; i++) own->x_columns[i] = (size_t)i;
    for (int i = 0; i < d->dim_y; i++) own->y_columns[i] = (size_t)(i + (together ? d->dim_x : 0));
    return JF_OK;
}

/* Those of x in its file, those of y in theirs. */
static jf_status find_named(dataset *d, const char *list, char *name) {
    table *own = d->own;
    for (int i = 0; row_names_next(&list, name); i++) {
        int is_x = i < d->dim_x;
        size_t *column = is_x ? &own->x_columns[i] : &own->y_columns[i - d->dim_x];
        JF_TRY(row_file_find(d->ctx, is_x ? own->x_file : own->y_file, name, column));
    }
    return JF_OK;
}

static jf_status take_named(dataset *d, const recipe *r, const char *list) {
    char *name;
    size_t count = row_names_count(list);
    if (count != (size_t)dataset_dim(d))
        return recipe_fail(r, "data.columns", "found %zu columns, expected %d of x and %d of y", count,
                           d->dim_x, d->dim_y);
    JF_TRY(MEM_NEW(d->ctx, &name, strlen(list) + 1));
    jf_status status = find_named(d, list, name);
    free(name);
    return status;
}

static jf_status refuse_twice(const dataset *d, int first, int second) {
    char words[160];
    size_t column;
    const row_file *f = file_of(d, second, &column);
    int in_x = first < d->dim_x, also_x = second < d->dim_x;
    return jf_fail(d->ctx, JF_ERROR_DATA, "%s: %s is %s%d and %s%d, expected each column once",
                   row_file_path(f), row_file_column_words(f, column, words, sizeof words), in_x ? "x" : "y",
                   in_x ? first : first - d->dim_x, also_x ? "x" : "y", also_x ? second : second - d->dim_x);
}

/* A column that is x and y, or stands twice in one of them, would make every density of the model worthless.
 */
static jf_status check_once(const dataset *d) {
    const table *own = d->own;
    int same_file = row_file_same(own->x_file, own->y_file),
        *element; /* 1 + that of each column; 0: none yet */
    size_t of_x = row_file_columns(own->x_file), column;
    jf_status status = JF_OK;
    JF_TRY(MEM_NEW(d->ctx, &element, of_x + row_file_columns(own->y_file)));
    for (int i = 0; status == JF_OK && i < dataset_dim(d); i++) {
        int in_x = file_of(d, i, &column) == own->x_file || same_file;
        int *before = &element[in_x ? column : of_x + column];
        if (*before) status = refuse_twice(d, *before - 1, i);
        *before = i + 1;
    }
    free(element);
    return status;
}

static jf_status choose_columns(dataset *d, const recipe *r) {
    table *own = d->own;
    const char *list = recipe_get(r, "data.columns");
    if (recipe_bool(r, "data.one_hot") && !recipe_bool(r, "data.discrete"))
        return recipe_fail(r, "data.one_hot", "a column for each class, expected data.discrete = yes, too");
    if (recipe_bool(r, "data.discrete") && d->dim_y != 1)
        return recipe_fail(
            r, "data.y", "found %d columns, expected 1 since data.discrete says that y is a class", d->dim_y);
    JF_TRY(MEM_NEW(d->ctx, &own->x_columns, (size_t)dataset_dim(d)));
    own->y_columns = own->x_columns + d->dim_x;
    JF_TRY(list[0] ? take_named(d, r, list) : take_leading(d));
    JF_TRY(check_once(d));
    for (int i = 0; i < dataset_dim(d); i++) {
        size_t column;
        const row_file *f = file_of(d, i, &column);
        int of_class = i == d->dim_x && recipe_bool(r, "data.discrete");
        JF_TRY((of_class ? row_file_check_classes : row_file_check_numbers)(d->ctx, f, column));
    }
    return JF_OK;
}

/* Names, where every column that is used has one. */
static jf_status keep_names(dataset *d) {
    table *own = d->own;
    size_t column;
    JF_TRY(MEM_NEW(d->ctx, &own->names, (size_t)dataset_dim(d)));
    for (int i = 0; i < dataset_dim(d); i++) {
        const row_file *f = file_of(d, i, &column);
        own->names[i] = row_file_name(f, column);
        if (!own->names[i] || !own->names[i][0]) return JF_OK;
    }
    d->names = own->names;
    d->keeps_names = 1;
    return JF_OK;
}

/* ---- checking ---- */

const char *table_place(const dataset *d, size_t file_row, int element, char *out, size_t size) {
    char words[160];
    size_t column;
    const row_file *f = file_of(d, element, &column);
    row_file_column_words(f, column, words, sizeof words);
    format_text(out, size, "%s: row %zu, %s", row_file_path(f), file_row + 1, words);
    return out;
}

static void take_file_row(const dataset *d, size_t row, double *x, double *y) {
    const table *own = d->own;
    int together = own->x_file == own->y_file && y == x + d->dim_x; /* then it is read once */
    row_file_take(own->x_file, row, own->x_columns, (size_t)(together ? table_columns(d) : d->dim_x), x);
    if (!together) row_file_take(own->y_file, row, own->y_columns, (size_t)own->y_count, y);
}

static double value_in_file(const dataset *d, size_t file_row, int element) {
    size_t column;
    const row_file *f = file_of(d, element, &column);
    return row_file_value(f, file_row, column);
}

static jf_status refuse_outside(const dataset *d, size_t row, int element, double value) {
    char place[512], words[96], digits[NUMBER_SIZE];
    number_shortest(digits, value);
    return jf_fail(d->ctx, JF_ERROR_DATA,
                   "%s is %s, which data.bounds rules out, expected %s: correct the value or the bounds",
                   table_place(d, row, element, place, sizeof place), digits,
                   support_words(&d->support[element], words, sizeof words));
}

static jf_status table_check(const dataset *d) {
    const table *own = d->own;
    JF_TRY(row_file_check(d->ctx, own->x_file));
    return row_file_check(d->ctx, own->y_file);
}

/* ---- rows that are left out ---- */

/* The rows that are not left out. */
static size_t complete_rows(const dataset *d) {
    const table *own = d->own;
    return row_file_rows(own->x_file) - own->left_out.validation_rows;
}

size_t table_complete_row(const dataset *d, size_t row) {
    return split_file_row(&((const table *)d->own)->left_out, row);
}

static jf_status leave_out(const dataset *d, size_t row) {
    table *own = d->own;
    if (!own->left_out.bits) {
        JF_TRY(table_check(d)); /* a file that has changed explains it */
        JF_TRY(split_begin(d->ctx, &own->left_out, row_file_rows(own->x_file)));
    }
    split_hold(&own->left_out, row);
    return JF_OK;
}

/* Leaves a row with a missing value out, or refuses it. */
static jf_status leave_out_missing(const dataset *d, size_t row, int element, int refuse) {
    table *own = d->own;
    char place[512];
    JF_TRY(leave_out(d, row));
    if (own->missing++ == 0) {
        own->first_missing = row;
        own->missing_element = element;
    }
    if (!refuse) return JF_OK;
    return jf_fail(d->ctx, JF_ERROR_DATA,
                   "%s is missing, expected a finite number; data.missing = drop leaves such rows out",
                   table_place(d, row, element, place, sizeof place));
}

static jf_status count_left_out(const dataset *d) {
    table *own = d->own;
    size_t rows = row_file_rows(own->x_file);
    char place[512];
    if (own->left_out.bits) split_count(&own->left_out);
    if (complete_rows(d) >= 2) return JF_OK;
    if (own->missing == 0)
        return jf_fail(
            d->ctx, JF_ERROR_DATA,
            "%s: found %ld of %zu rows with an x that data.bounds rules out, expected at least 2 others",
            row_file_path(own->x_file), d->outside, rows);
    return jf_fail(d->ctx, JF_ERROR_DATA,
                   "%zu of %zu rows have a missing value, the first: %s; expected at least 2 rows without: "
                   "leave the columns out that miss most, or fill the values in",
                   own->missing, rows,
                   table_place(d, own->first_missing, own->missing_element, place, sizeof place));
}

void table_tell_missing(const dataset *d) {
    const table *own = d->own;
    char place[512];
    if (own->missing == 0) return;
    jf_warn(d->ctx, "%zu of %zu rows are left out since a value is missing, the first: %s", own->missing,
            row_file_rows(own->x_file),
            table_place(d, own->first_missing, own->missing_element, place, sizeof place));
}

/* ---- checking values ---- */

/* Data to test on may have an x outside of its support, which has no density. */
static jf_status check_value(const dataset *d, size_t row, int element, double value, int *is_outside) {
    char place[512];
    if (!isfinite(value)) {
        JF_TRY(table_check(d)); /* a file that has changed explains it */
        return jf_fail(d->ctx, JF_ERROR_DATA, "%s is %g, expected a finite number",
                       table_place(d, row, element, place, sizeof place), value);
    }
    if (!d->support || support_contains(&d->support[element], value)) return JF_OK;
    if (!d->is_test || element >= d->dim_x) return refuse_outside(d, row, element, value);
    *is_outside = 1;
    return JF_OK;
}

static int find_missing(const double *values, int count) {
    for (int i = 0; i < count; i++)
        if (isnan(values[i])) return i;
    return -1;
}

/* values (dim): scratch */
static jf_status check_values(dataset *d, int refuse, double *values) {
    size_t rows = row_file_rows(((const table *)d->own)->x_file);
    int dim = dataset_dim(d);
    for (size_t row = 0; row < rows; row++) {
        if (row % ROWS_A_POLL == 0) JF_TRY(context_poll(d->ctx, "checking rows", row, rows));
        take_file_row(d, row, values, values + d->dim_x);
        int missing = find_missing(values, dim), is_outside = 0;
        if (missing >= 0) JF_TRY(leave_out_missing(d, row, missing, refuse));
        for (int i = 0; missing < 0 && i < dim; i++) JF_TRY(check_value(d, row, i, values[i], &is_outside));
        if (is_outside) JF_TRY(leave_out(d, row));
        d->outside += is_outside;
    }
    return count_left_out(d);
}

static jf_status check_columns(dataset *d, const recipe *r) {
    double *values;
    JF_TRY(MEM_NEW(d->ctx, &values, (size_t)dataset_dim(d)));
    jf_status status = check_values(d, recipe_is(r, "data.missing", "refuse"), values);
    free(values);
    return status;
}

/* ---- circles ---- */

/* Cuts a circle open where the data are fewest: in the middle of the longest arc with the fewest of them. */
static void cut_circle(const dataset *d, int element) {
    enum { ARCS = 64 };
    column_support *s = &d->support[element];
    long count[ARCS] = {0};
    double period = s->hi - s->lo;
    int best = 0, longest = 0;
    for (size_t row = 0; row < complete_rows(d); row++) {
        double value = value_in_file(d, table_complete_row(d, row), element);
        int arc = (int)((support_to_line(s, value) - s->cut) / period * ARCS);
        count[arc < 0 ? 0 : arc >= ARCS ? ARCS - 1 : arc]++;
    }
    long fewest = count[0];
    for (int i = 1; i < ARCS; i++)
        if (count[i] < fewest) fewest = count[i];
    for (int i = 0; i < ARCS; i++) {
        int length = 0;
        while (length < ARCS && count[(i + length) % ARCS] == fewest) length++;
        if (length <= longest) continue;
        longest = length;
        best = i;
    }
    s->cut = s->lo + period * (best + 0.5 * longest) / ARCS;
}

static void cut_circles(const dataset *d) {
    for (int i = 0; d->support && i < dataset_dim(d); i++)
        if (d->support[i].kind == SUPPORT_CIRCLE) cut_circle(d, i);
}

/* ---- rows ---- */

/* The rows that are not left out among the last `count` of the file. */
static size_t complete_among_last(const dataset *d, size_t count) {
    const table *own = d->own;
    size_t rows = row_file_rows(own->x_file), complete = count;
    for (size_t row = rows - count; row < rows; row++) complete -= (size_t)split_holds(&own->left_out, row);
    return complete;
}

/* Both parts stay in the order of the file. */
static jf_status hold_out(dataset *d, const recipe *r) {
    table *own = d->own;
    size_t rows = complete_rows(d), last = (size_t)recipe_int(r, "data.validation_rows");
    if (last > 0 && last < row_file_rows(own->x_file)) last = complete_among_last(d, last);
    if (last >= rows && last > 0)
        return recipe_fail(r, "data.validation_rows", "found %zu, expected fewer than the %zu rows of %s",
                           last, rows, row_file_path(own->x_file));
    d->validation_rows = last > 0 ? (long)last : (long)(recipe_real(r, "data.validation") * (double)rows);
    d->rows = (long)rows - d->validation_rows;
    /* the last ones are where a set has its held-out rows already */
    return split_create(d->ctx, &own->split, rows, last > 0 ? 0 : (size_t)d->validation_rows);
}

long table_file_row(const dataset *d, long row) {
    return (long)table_complete_row(d, split_file_row(&((const table *)d->own)->split, (size_t)row));
}

void table_take(const dataset *d, long row, double *x, double *y) {
    take_file_row(d, (size_t)table_file_row(d, row), x, y);
}

/* ---- the kind ---- */

static jf_status table_open(dataset *d, const recipe *r) {
    table *own;
    JF_TRY(MEM_NEW(d->ctx, &own, 1));
    d->own = own;
    d->dim_x = recipe_int(r, "data.x");
    d->dim_y = own->y_count = recipe_int(r, "data.y");
    d->spreads_y = !recipe_is(r, "model.condition", "fixed");
    JF_TRY(open_files(d, r));
    JF_TRY(check_axes(d, r));
    JF_TRY(choose_columns(d, r));
    JF_TRY(keep_names(d));
    JF_TRY(bounds_parse(d, r, "data.bounds"));
    if (d->support && recipe_bool(r, "data.discrete") && d->support[d->dim_x].kind != SUPPORT_LINE)
        return recipe_fail(r, "data.bounds",
                           "found bounds of y, which data.discrete says is a class: expected none");
    JF_TRY(check_columns(d, r));
    cut_circles(d);
    JF_TRY(hold_out(d, r));
    if (recipe_bool(r, "data.discrete")) JF_TRY(table_find_classes(d, r));
    if (recipe_bool(r, "data.one_hot")) JF_TRY(table_make_planes(d));
    if (d->is_test) table_tell_missing(d);
    return table_check(d);
}

static void table_fetch(const dataset *d, long row, rng *stream, double *scratch, double *x, double *y) {
    (void)stream, (void)scratch;
    if (d->planes) memset(y, 0, (size_t)d->dim_y * sizeof *y); /* what is made of the class comes later */
    table_take(d, row, x, y);
}

static void table_row_words(const dataset *d, long row, char *out, size_t size) {
    const table *own = d->own;
    format_text(out, size, "row %ld of %s", table_file_row(d, row) + 1, row_file_path(own->x_file));
}

/* All of x, then all of y, as doubles in the order of the set, whatever the files are like. */
static uint64_t table_add_to_checksum(const dataset *d, uint64_t sum) {
    const table *own = d->own;
    for (int part = 0; part < 2; part++) {
        const row_file *f = part == 0 ? own->x_file : own->y_file;
        const size_t *columns = part == 0 ? own->x_columns : own->y_columns;
        int dim = part == 0 ? d->dim_x : own->y_count;
        for (long row = 0; row < d->rows + d->validation_rows; row++)
            for (int i = 0; i < dim; i++) {
                double value = row_file_value(f, (size_t)table_file_row(d, row), columns[i]);
                sum = checksum_add(sum, &value, sizeof value);
            }
    }
    return sum;
}

static void table_close(dataset *d) {
    table *own = d->own;
    if (!own) return;
    if (own->y_file != own->x_file) row_file_close(own->y_file);
    row_file_close(own->x_file);
    free(own->x_columns);
    free(own->names);
    split_free(&own->left_out);
    split_free(&own->split);
    free(own);
}

/* The model's, in its order: the file may lack some. */
static jf_status set_test_classes(recipe *r, const test_file *file) {
    text names = {0};
    for (int k = 0; k < file->classes; k++) {
        const char *quote = strchr(file->class_names[k], ',') ? "\"" : "";
        text_add(&names, "%s%s%s%s", k ? "," : "", quote, file->class_names[k], quote);
    }
    jf_status status = text_check(recipe_context(r), &names);
    if (status == JF_OK) status = recipe_set(r, "data.classes", names.chars ? names.chars : "");
    text_free(&names);
    return status;
}

static jf_status table_name_test(recipe *r, const test_file *file) {
    JF_TRY(recipe_set(r, "data.file", file->rows ? MEMORY_ROWS_FILE : file->path));
    JF_TRY(recipe_set(r, "data.y_file", file->labels && !file->rows ? file->labels : ""));
    if (file->rows) JF_TRY(recipe_set(r, "data.columns", "")); /* they are all there, in the model's order */
    recipe_set_rows(r, file->rows);
    JF_TRY(recipe_set(r, "data.validation_rows", "0"));
    JF_TRY(set_test_classes(r, file));
    return recipe_set(r, "data.validation", "0");
}

const dataset_kind dataset_table = {
    .name = "table",
    .summary = "the rows of a .csv, .tsv, .txt or .npy file, or of one of x and one of y",
    .keys = keys,
    .open = table_open,
    .close = table_close,
    .fetch = table_fetch,
    .row_class = table_row_class,
    .add_to_checksum = table_add_to_checksum,
    .row_words = table_row_words,
    .check = table_check,
    .examine = table_examine,
    .name_test = table_name_test,
};
