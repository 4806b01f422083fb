#include "map_rows.h"
#include "given.h"
#include "tables.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static void rows_free(mapped_rows *r) {
    free(r->in);
    free(r->y);
    free(r->out);
    free(r->y_out);
}

static void copy_columns(double *to, const jf_table *t, size_t from, size_t count) {
    for (size_t row = 0; row < t->rows; row++)
        memcpy(to + row * count, t->values + row * t->columns + from, count * sizeof *to);
}

static int split(mapped_rows *out, const jf_table *t, size_t dim_x, size_t dim_y) {
    out->count = (int)t->rows;
    out->in = calloc(t->rows * dim_x + 1, sizeof(double));
    out->y = calloc(t->rows * dim_y + 1, sizeof(double));
    if (!out->in || !out->y) return cli_fail_memory();
    copy_columns(out->in, t, 0, dim_x);
    copy_columns(out->y, t, dim_x, dim_y);
    return CLI_OK;
}

static int columns_of_y(const jf_model *m) {
    return cli_has_class_column(m) ? 1 : jf_model_dim_y(m);
}

/* All elements of a row from one file. */
static int read_together(const call *c, mapped_rows *out, const char *path, const jf_model *m,
                         const char *in) {
    jf_table t;
    int dim_x = jf_model_dim_x(m), dim_y = jf_model_dim_y(m), code;
    /* no column is known as z, but a class may have to be found */
    jf_status status = in[0] == 'x' || cli_has_class_column(m)
                           ? jf_table_read_for(&t, m, path, 0, dim_x + dim_y)
                           : jf_table_read(&t, c->ctx, path);
    if (status != JF_OK) return cli_fail_library(c);
    if (t.columns != (size_t)(dim_x + dim_y))
        code = cli_fail("%s: found %zu column%s, expected %d (%d of %s, then %d of y)", path, t.columns,
                        t.columns == 1 ? "" : "s", dim_x + columns_of_y(m), dim_x, in, columns_of_y(m));
    else if (t.rows < 1 || t.rows > INT_MAX)
        code = cli_fail("%s: found %zu rows, expected 1 to %d", path, t.rows, INT_MAX);
    else
        code = split(out, &t, (size_t)dim_x, (size_t)dim_y);
    jf_table_free(&t);
    return code;
}

/* `count` elements from `from` on; of z nothing is known by name. */
static int read_part(const call *c, jf_table *t, const char *path, const jf_model *m, const char *what,
                     int from, int count) {
    jf_status status =
        what[0] == 'z' ? jf_table_read(t, c->ctx, path) : jf_table_read_for(t, m, path, from, count);
    if (status != JF_OK) return cli_fail_library(c);
    if (t->columns != (size_t)count)
        return cli_fail("%s: found %zu column%s, expected %d of %s", path, t->columns,
                        t->columns == 1 ? "" : "s", what[0] == 'y' ? columns_of_y(m) : count, what);
    if (t->rows < 1 || t->rows > INT_MAX)
        return cli_fail("%s: found %zu rows, expected 1 to %d", path, t->rows, INT_MAX);
    return CLI_OK;
}

/* Conditions from a file of their own: as many rows, or one for all. */
static int read_apart(const call *c, mapped_rows *out, const char *path, const char *y_path,
                      const jf_model *m, const char *in) {
    int dim_x = jf_model_dim_x(m), dim_y = jf_model_dim_y(m);
    jf_table a = {0}, y = {0};
    if (dim_y == 0)
        return cli_misuse(c->command, "-y: found \"%s\", but this model has no condition", y_path);
    int code = read_part(c, &a, path, m, in, 0, dim_x);
    if (code == CLI_OK) code = read_part(c, &y, y_path, m, "y", dim_x, dim_y);
    if (code == CLI_OK && y.rows != a.rows && y.rows != 1)
        code = cli_fail("%s: found %zu rows, expected %zu as in %s, or one for all of them", y_path, y.rows,
                        a.rows, path);
    if (code == CLI_OK) {
        out->count = (int)a.rows;
        out->in = a.values;
        out->y = calloc(a.rows * (size_t)dim_y + 1, sizeof(double));
        a.values = NULL;
        if (!out->y) code = cli_fail_memory();
    }
    for (size_t row = 0; code == CLI_OK && row < (size_t)out->count; row++)
        memcpy(out->y + row * (size_t)dim_y, y.values + (y.rows == 1 ? 0 : row) * (size_t)dim_y,
               (size_t)dim_y * sizeof(double));
    jf_table_free(&a);
    jf_table_free(&y);
    return code;
}

static int read_table(const call *c, mapped_rows *out, const char *path, const jf_model *m, const char *in) {
    const char *y_path = option_is_known(c->arguments, "y") ? option_text(c->arguments, "y") : NULL;
    if (y_path && *y_path == '@') y_path++; /* as sample has it */
    return y_path ? read_apart(c, out, path, y_path, m, in) : read_together(c, out, path, m, in);
}

/* Images instead of a table. */
static int read_images(const call *c, mapped_rows *out, const char *path, const jf_model *m) {
    given_rows rows;
    if (option_given(c->arguments, "standardised"))
        return cli_misuse(c->command,
                          "--standardised: found images (%s), whose units are the data's, expected "
                          "a table",
                          path);
    int code = given_read(c, m, "y", "-y", 1, &path, &rows);
    out->count = rows.count;
    out->in = rows.x;
    out->y = rows.y;
    return code;
}

static int read_data(const call *c, mapped_rows *out, const char *path, const jf_model *m, const char *in) {
    jf_image_form form = {.size = sizeof(jf_image_form)};
    if (in[0] == 'z' || !option_is_known(c->arguments, "y")) return read_table(c, out, path, m, in);
    if (jf_model_image_form(&form, m) != JF_OK) return cli_fail_library(c);
    int with_y = option_given(c->arguments, "y"), array = form.h > 0 && cli_ends_with(path, ".npy");
    if (given_is_image(c, &form, path) || (with_y && array)) return read_images(c, out, path, m);
    if (with_y && form.h > 0)
        return cli_misuse(c->command,
                          "-y: found \"%s\", a table, which has the columns of y; -y is for images", path);
    return read_table(c, out, path, m, in);
}

/* ---- mapping ---- */

static int write_rows(const call *c, const mapped_rows *r, const row_map *map, const char *path) {
    int dim_x = jf_model_dim_x(r->model), dim_y = jf_model_dim_y(r->model);
    columns parts[] = {{.name = map->out,
                        .values = r->out,
                        .count = map->y_out ? dim_x : 1,
                        .unnumbered = !map->y_out,
                        .named_by = strcmp(map->out, "x") == 0 ? r->model : NULL},
                       {.name = map->y_out,
                        .values = r->y_out,
                        .count = dim_y,
                        .named_by = r->model,
                        .first = dim_x,
                        .prefixed = 1}};
    return tables_write(c, path, r->count, parts, map->y_out ? 2 : 1);
}

static int answer(const call *c, mapped_rows *r, const row_map *map, const char *path) {
    size_t count = (size_t)r->count, dim_x = (size_t)jf_model_dim_x(r->model),
           dim_y = (size_t)jf_model_dim_y(r->model);
    jf_use_options use = {.size = sizeof(jf_use_options),
                          .standardised = option_given(c->arguments, "standardised")};
    int to_file = path && strcmp(path, "-") != 0;
    r->out = calloc(count * (map->y_out ? dim_x : 1) + 1, sizeof(double));
    r->y_out = calloc(count * (map->y_out ? dim_y : 0) + 1, sizeof(double));
    if (!r->out || !r->y_out) return cli_fail_memory();
    if (map->map(r, &use) != JF_OK) return cli_fail_library(c);
    if (map->print_summary && !to_file) map->print_summary(r, "# ");
    int code = write_rows(c, r, map, path);
    if (code == CLI_OK && map->print_summary && to_file) map->print_summary(r, "");
    return code;
}

int map_rows(const call *c, const row_map *map) {
    const char *path = option_text(c->arguments, "output");
    jf_model *m = NULL;
    mapped_rows rows = {.summary = {.size = sizeof(jf_density_summary)}};
    int code = tables_check_output(c, path, ".csv .npy");
    if (code == CLI_OK) code = cli_join_ranks(c);
    if (code == CLI_OK) code = cli_load_model(c, &m, argument(c->arguments, 0));
    if (code == CLI_OK && option_given(c->arguments, "standardised") && cli_has_class_column(m))
        code = cli_misuse(c->command, "--standardised: y of this model is a class, which has no such units");
    rows.model = m;
    if (code == CLI_OK) code = read_data(c, &rows, argument(c->arguments, 1), m, map->in);
    if (code == CLI_OK) code = answer(c, &rows, map, path);
    rows_free(&rows);
    jf_model_free(m);
    return code;
}

const option map_rows_options[] = {
    OPTION_OUTPUT_TABLE,
    {"y", 'y', OPTION_LIST, "VALUES", NULL, 0, 0,
     "conditions that are not in DATA: a .csv, .tsv, .txt or .npy file with as many rows, or one for all; where "
     "DATA are images as in jointflow sample, one for all or one for each, by default, where the condition is an "
     "image, what the model's task makes of them"},
    OPTION_STANDARDISED,
    OPTION_RANKS,
    OPTION_THREADS,
    OPTION_DEVICE,
    {0}};
