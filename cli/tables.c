#include "tables.h"
#include "given.h"
#include "outputs.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static void pairs_free(pairs *p) {
    free(p->first);
    free(p->second);
    *p = (pairs){0};
}

static void copy_columns(double *to, const jf_table *t, size_t from, size_t count) {
    for (size_t row = 0; row < t->rows; row++)
        memcpy(to + row * count, t->values + row * t->columns + from, count * sizeof *to);
}

static int pairs_split(pairs *out, const jf_table *t, size_t dim_x, size_t dim_y) {
    *out = (pairs){.rows = (int)t->rows,
                   .first = calloc(t->rows * dim_x + 1, sizeof(double)),
                   .second = calloc(t->rows * dim_y + 1, sizeof(double))};
    if (!out->first || !out->second) return cli_fail_memory();
    copy_columns(out->first, t, 0, dim_x);
    copy_columns(out->second, t, dim_x, dim_y);
    return CLI_OK;
}

static int pairs_read(const call *c, pairs *out, const char *path, const jf_model *m, const char *first) {
    jf_table t;
    if (jf_table_read(c->ctx, &t, path) != JF_OK) return cli_fail_library(c);
    int dim_x = jf_model_dim_x(m), dim_y = jf_model_dim_y(m), code;
    if (t.columns != (size_t)(dim_x + dim_y))
        code = cli_fail("%s: found %zu column%s, expected %d (%d of %s, then %d of y)", path, t.columns,
                        t.columns == 1 ? "" : "s", dim_x + dim_y, dim_x, first, dim_y);
    else if (t.rows < 1 || t.rows > INT_MAX)
        code = cli_fail("%s: found %zu rows, expected 1 to %d", path, t.rows, INT_MAX);
    else
        code = pairs_split(out, &t, (size_t)dim_x, (size_t)dim_y);
    jf_table_free(&t);
    return code;
}

/* Images instead of a table; for commands that have the option -y. */
static int pairs_of_images(const call *c, pairs *out, const char *path, const jf_model *m) {
    given_rows rows;
    if (option_given(c->arguments, "standardised"))
        return cli_misuse(c->command,
                          "--standardised: found images (%s), whose units are the data's, expected "
                          "a table",
                          path);
    int code = given_read(c, m, "y", "-y", 1, &path, &rows);
    *out = (pairs){.rows = rows.count, .first = rows.x, .second = rows.y};
    return code;
}

static int pairs_choose(const call *c, pairs *out, const char *path, const jf_model *m, const char *first) {
    jf_image_form form;
    if (!option_is_known(c->arguments, "y")) return pairs_read(c, out, path, m, first);
    if (jf_model_image_form(m, &form) != JF_OK) return cli_fail_library(c);
    int with_y = option_given(c->arguments, "y"), array = form.h > 0 && cli_ends_with(path, ".npy");
    if (given_is_image(c, &form, path) || (with_y && array)) return pairs_of_images(c, out, path, m);
    if (with_y)
        return cli_misuse(c->command,
                          "-y: found \"%s\", a table, which has the columns of y; -y is for images", path);
    return pairs_read(c, out, path, m, first);
}

int pairs_answer(const call *c, const char *first, pairs_fn answer) {
    const char *path = option_text(c->arguments, "output");
    jf_model *m = NULL;
    pairs data = {0};
    int code = tables_check_output(c, path, ".csv .npy");
    if (code == CLI_OK) code = cli_load_model(c, &m, argument(c->arguments, 0));
    if (code == CLI_OK) code = pairs_choose(c, &data, argument(c->arguments, 1), m, first);
    if (code == CLI_OK) code = answer(c, m, &data, path);
    pairs_free(&data);
    jf_model_free(m);
    return code;
}

/* ---- writing ---- */

int tables_check_output(const call *c, const char *path, const char *endings) {
    char ending[8];
    if (!path || strcmp(path, "-") == 0) return CLI_OK;
    for (const char *e = endings; *e; e += strspn(e, " ")) {
        size_t length = strcspn(e, " ");
        snprintf(ending, sizeof ending, "%.*s", (int)length, e);
        if (cli_ends_with(path, ending)) return output_check_file(c, path);
        e += length;
    }
    return cli_misuse(c->command, "-o: found \"%s\", expected a name that ends in one of %s", path, endings);
}

/* The table with its parts side by side, and the names of its columns. */
typedef struct sheet {
    jf_table table;
    char **names;
} sheet;

static void sheet_free(sheet *s) {
    for (size_t i = 0; s->names && i < s->table.columns; i++) free(s->names[i]);
    free(s->names);
    free(s->table.values);
}

static int sheet_fill(sheet *s, int rows, const columns *parts, int part_count) {
    size_t width = 0, at = 0;
    for (int i = 0; i < part_count; i++) width += (size_t)parts[i].count;
    s->table = (jf_table){calloc((size_t)rows * width + 1, sizeof(double)), (size_t)rows, width};
    s->names = calloc(width + 1, sizeof *s->names);
    if (!s->table.values || !s->names) return 0;
    for (int i = 0; i < part_count; i++) {
        size_t count = (size_t)parts[i].count;
        for (size_t row = 0; row < (size_t)rows; row++)
            memcpy(s->table.values + row * width + at, parts[i].values + row * count, count * sizeof(double));
        for (size_t k = 0; k < count; k++, at++) {
            s->names[at] =
                parts[i].unnumbered ? cli_join("%s", parts[i].name) : cli_join("%s%zu", parts[i].name, k);
            if (!s->names[at]) return 0;
        }
    }
    return 1;
}

/* Nine digits, as the library writes files. Gives up with the first failure: there may be very many rows. */
static int print_sheet(const sheet *s) {
    size_t width = s->table.columns;
    for (size_t i = 0; i < width; i++)
        if (printf("%s%s", i ? "," : "", s->names[i]) < 0) return cli_fail_output();
    for (size_t i = 0; i < s->table.rows * width; i++)
        if (printf("%s%.9g", i % width ? "," : "\n", s->table.values[i]) < 0) return cli_fail_output();
    return putchar('\n') < 0 || fflush(stdout) != 0 ? cli_fail_output() : CLI_OK;
}

int tables_write(const call *c, const char *path, int rows, const columns *parts, int part_count) {
    sheet s = {0};
    int code;
    if (!sheet_fill(&s, rows, parts, part_count))
        code = cli_fail_memory();
    else if (!path || strcmp(path, "-") == 0)
        code = print_sheet(&s);
    else
        code = jf_table_write(c->ctx, &s.table, (const char *const *)s.names, path) == JF_OK
                   ? CLI_OK
                   : cli_fail_library(c);
    sheet_free(&s);
    return code;
}
