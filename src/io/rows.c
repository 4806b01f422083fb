#include "io/rows.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "io/csv.h"
#include "io/npy.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct row_file {
    char *path;
    size_t rows, columns;
    y_axes axes;
    csv_table csv; /* without values: the file is */
    npy_file npy;
    memory_rows *memory; /* in place of a file */
};

/* ---- opening ---- */

static jf_status open_csv(jf_context *ctx, row_file *f) {
    JF_TRY(csv_read_any(ctx, f->path, &f->csv));
    f->rows = f->csv.rows;
    f->columns = f->csv.columns;
    return JF_OK;
}

static jf_status open_npy(jf_context *ctx, row_file *f) {
    JF_TRY(npy_file_open(ctx, &f->npy, f->path));
    int rank = f->npy.rank;
    if (rank < 1 || rank > 1 + Y_AXES_MOST)
        return jf_fail(
            ctx, JF_ERROR_SHAPE,
            "%s: the array has %d dimensions, expected 2 (rows, columns), of a y that is a series or "
            "an image up to %d",
            f->path, rank, 1 + Y_AXES_MOST);
    f->rows = f->npy.shape[0];
    f->columns = 1;
    for (int i = 1; i < rank; i++) {
        f->columns *= f->npy.shape[i]; /* all of them fit into the file */
        f->axes.size[i - 1] = f->npy.shape[i] < INT_MAX ? (int)f->npy.shape[i] : INT_MAX;
    }
    f->axes.rank = rank > 2 ? rank - 1 : 0;
    return JF_OK;
}

int row_file_is_text(const char *path) {
    static const char *const texts[] = {".csv", ".txt", ".tsv"};
    const char *ending = file_extension(path);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(ending, texts[i]) == 0) return 1;
    return 0;
}

static jf_status open_by_ending(jf_context *ctx, row_file *f) {
    const char *ending = file_extension(f->path);
    if (strcmp(ending, ".npy") == 0) return open_npy(ctx, f);
    if (row_file_is_text(f->path)) return open_csv(ctx, f);
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: a table ends in .csv, .tsv, .txt or .npy, found \"%s\"",
                   f->path, ending);
}

static jf_status open_memory(row_file *f, memory_rows *rows) {
    f->memory = memory_rows_hold(rows);
    f->rows = memory_rows_count(rows);
    f->columns = memory_rows_columns(rows);
    f->axes = memory_rows_axes(rows);
    return JF_OK;
}

/* rows: NULL, or in place of the file */
static jf_status open_rows(jf_context *ctx, row_file **out, const char *path, memory_rows *rows) {
    row_file *f;
    *out = NULL;
    JF_TRY(MEM_NEW(ctx, &f, 1));
    jf_status status = mem_copy_text(ctx, &f->path, path);
    if (status == JF_OK) status = rows ? open_memory(f, rows) : open_by_ending(ctx, f);
    if (status != JF_OK) {
        row_file_close(f);
        return status;
    }
    *out = f;
    return JF_OK;
}

jf_status row_file_open(jf_context *ctx, row_file **out, const char *path) {
    return open_rows(ctx, out, path, NULL);
}

jf_status row_file_open_memory(jf_context *ctx, row_file **out, memory_rows *rows) {
    return open_rows(ctx, out, "data in memory", rows);
}

void row_file_close(row_file *f) {
    if (!f) return;
    memory_rows_free(f->memory);
    csv_free(&f->csv);
    npy_file_close(&f->npy);
    free(f->path);
    free(f);
}

const char *row_file_path(const row_file *f) {
    return f->path;
}

int row_file_same(const row_file *a, const row_file *b) {
    return a == b || (!a->memory && !b->memory && file_is_same(a->path, b->path));
}

size_t row_file_rows(const row_file *f) {
    return f->rows;
}

size_t row_file_columns(const row_file *f) {
    return f->columns;
}

y_axes row_file_axes(const row_file *f) {
    return f->axes;
}

jf_status row_file_check_flat(jf_context *ctx, const row_file *f) {
    if (f->axes.rank == 0 || f->memory) return JF_OK;
    return jf_fail(ctx, JF_ERROR_SHAPE, "%s: the array has %d dimensions, expected 2 (rows, columns)",
                   f->path, 1 + f->axes.rank);
}

const char *row_file_name(const row_file *f, size_t column) {
    if (f->memory) return memory_rows_name(f->memory, column);
    return f->csv.names && column < f->columns ? f->csv.names[column] : NULL;
}

size_t row_file_bytes(const row_file *f) {
    if (f->memory) return memory_rows_bytes(f->memory);
    if (f->npy.read) return npy_file_bytes(&f->npy);
    return f->csv.values ? f->rows * f->columns * sizeof(double) : 0;
}

/* ---- values ---- */

double row_file_value(const row_file *f, size_t row, size_t column) {
    size_t at = row * f->columns + column;
    if (f->memory) return memory_rows_value(f->memory, row, column);
    return f->csv.values ? f->csv.values[at] : npy_file_value(&f->npy, at);
}

void row_file_take(const row_file *f, size_t row, const size_t *columns, size_t count, double *out) {
    if (f->npy.read)
        npy_file_take(&f->npy, row * f->columns, (row + 1) * f->columns, columns, count, out);
    else
        for (size_t i = 0; i < count; i++) out[i] = row_file_value(f, row, columns[i]);
}

jf_status row_file_check_numbers(jf_context *ctx, const row_file *f, size_t column) {
    if (f->memory && row_file_words(f, column))
        return jf_fail(ctx, JF_ERROR_DATA, "%s: y holds names of classes (\"%s\"), expected numbers", f->path,
                       row_file_word(f, column, 0));
    return csv_check_column(ctx, f->path, &f->csv, column);
}

/* Those of y, which is one column, in memory. */
static const word_list *words_of(const row_file *f, size_t column) {
    if (f->memory) return column == memory_rows_columns_x(f->memory) ? memory_rows_words(f->memory) : NULL;
    return f->csv.words ? &f->csv.words[column] : NULL;
}

size_t row_file_words(const row_file *f, size_t column) {
    const word_list *l = words_of(f, column);
    return l ? (size_t)l->count : 0;
}

const char *row_file_word(const row_file *f, size_t column, size_t k) {
    return words_of(f, column)->word[k];
}

jf_status row_file_check_classes(jf_context *ctx, const row_file *f, size_t column) {
    return csv_check_classes(ctx, f->path, &f->csv, column);
}

jf_status row_file_check(jf_context *ctx, const row_file *f) {
    return f->npy.read ? npy_file_check(ctx, &f->npy, f->path) : JF_OK;
}

/* ---- columns by name ---- */

const char *row_file_column_words(const row_file *f, size_t column, char *out, size_t size) {
    const char *name = row_file_name(f, column), *part = "";
    size_t place = column;
    if (f->memory) {
        size_t dim_x = memory_rows_columns_x(f->memory);
        part = column < dim_x ? " of x" : " of y";
        place = column < dim_x ? column : column - dim_x;
    }
    if (name)
        format_text(out, size, "column %zu%s (\"%s\")", place + 1, part, name);
    else
        format_text(out, size, "column %zu%s", place + 1, part);
    return out;
}

/* "a", "b" and 3 more: what could have been meant. */
static void list_names(const row_file *f, text *out) {
    enum { SHOWN = 12 };
    int named = row_file_name(f, 0) != NULL;
    for (size_t i = 0; named && i < f->columns && i < SHOWN; i++)
        text_add(out, "%s\"%s\"", i ? ", " : "", row_file_name(f, i));
    if (named && f->columns > SHOWN) text_add(out, " and %zu more", f->columns - SHOWN);
    if (!named) text_add(out, "a number from 1 to %zu, since the columns have no names", f->columns);
}

static jf_status refuse_name(jf_context *ctx, const row_file *f, const char *name) {
    text names = {0};
    list_names(f, &names);
    jf_status status = jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: there is no column \"%s\", expected %s", f->path,
                               name, names.chars ? names.chars : "another");
    text_free(&names);
    return status;
}

jf_status row_file_find(jf_context *ctx, const row_file *f, const char *name, size_t *column) {
    size_t found = 0;
    long long number = 0;
    int named = row_file_name(f, 0) != NULL;
    for (size_t i = 0; named && i < f->columns; i++)
        if (strcmp(row_file_name(f, i), name) == 0 && found++ == 0) *column = i;
    if (found > 1)
        return jf_fail(
            ctx, JF_ERROR_ARGUMENT,
            "%s: %zu columns are called \"%s\", expected one; choose them by their numbers, from 1", f->path,
            found, name);
    if (found == 1) return JF_OK;
    if (!number_parse_int(name, &number) || number < 1 || (unsigned long long)number > f->columns)
        return refuse_name(ctx, f, name);
    *column = (size_t)number - 1;
    return JF_OK;
}

int row_names_next(const char **list, char *out) {
    const char *at = *list;
    if (!at) return 0;
    at += strspn(at, " ");
    int quoted = *at == '"';
    size_t length = 0;
    for (at += quoted; *at && (quoted ? *at != '"' : *at != ','); at++) out[length++] = *at;
    while (!quoted && length > 0 && out[length - 1] == ' ') length--;
    out[length] = '\0';
    at += strcspn(at, ",");
    *list = *at ? at + 1 : NULL;
    return 1;
}

size_t row_names_count(const char *list) {
    size_t count = 0;
    int quoted = 0;
    if (!list[strspn(list, " ")]) return 0;
    for (; *list; list++) {
        quoted ^= *list == '"';
        count += !quoted && *list == ',';
    }
    return count + 1;
}
