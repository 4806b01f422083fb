#include "tables.h"
#include "given.h"
#include "outputs.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int columns_of_y(const jf_model *m) {
    return cli_has_class_column(m) ? 1 : jf_model_dim_y(m);
}

/* All elements of a row from one file. */
static int read_together(const call *c, pairs *out, const char *path, const jf_model *m, const char *first) {
    jf_table t;
    int dim_x = jf_model_dim_x(m), dim_y = jf_model_dim_y(m), code;
    /* no column is known as z, but a class may have to be found */
    jf_status status = first[0] == 'x' || cli_has_class_column(m)
                           ? jf_table_read_for(&t, m, path, 0, dim_x + dim_y)
                           : jf_table_read(&t, c->ctx, path);
    if (status != JF_OK) return cli_fail_library(c);
    if (t.columns != (size_t)(dim_x + dim_y))
        code = cli_fail("%s: found %zu column%s, expected %d (%d of %s, then %d of y)", path, t.columns,
                        t.columns == 1 ? "" : "s", dim_x + columns_of_y(m), dim_x, first, columns_of_y(m));
    else if (t.rows < 1 || t.rows > INT_MAX)
        code = cli_fail("%s: found %zu rows, expected 1 to %d", path, t.rows, INT_MAX);
    else
        code = pairs_split(out, &t, (size_t)dim_x, (size_t)dim_y);
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
static int read_apart(const call *c, pairs *out, const char *path, const char *y_path, const jf_model *m,
                      const char *first) {
    int dim_x = jf_model_dim_x(m), dim_y = jf_model_dim_y(m);
    jf_table a = {0}, y = {0};
    if (dim_y == 0)
        return cli_misuse(c->command, "-y: found \"%s\", but this model has no condition", y_path);
    int code = read_part(c, &a, path, m, first, 0, dim_x);
    if (code == CLI_OK) code = read_part(c, &y, y_path, m, "y", dim_x, dim_y);
    if (code == CLI_OK && y.rows != a.rows && y.rows != 1)
        code = cli_fail("%s: found %zu rows, expected %zu as in %s, or one for all of them", y_path, y.rows,
                        a.rows, path);
    if (code == CLI_OK) {
        *out = (pairs){.rows = (int)a.rows,
                       .first = a.values,
                       .second = calloc(a.rows * (size_t)dim_y + 1, sizeof(double))};
        a.values = NULL;
        if (!out->second) code = cli_fail_memory();
    }
    for (size_t row = 0; code == CLI_OK && row < (size_t)out->rows; row++)
        memcpy(out->second + row * (size_t)dim_y, y.values + (y.rows == 1 ? 0 : row) * (size_t)dim_y,
               (size_t)dim_y * sizeof(double));
    jf_table_free(&a);
    jf_table_free(&y);
    return code;
}

static int pairs_read(const call *c, pairs *out, const char *path, const jf_model *m, const char *first) {
    const char *y_path = option_is_known(c->arguments, "y") ? option_text(c->arguments, "y") : NULL;
    if (y_path && *y_path == '@') y_path++; /* as sample has it */
    return y_path ? read_apart(c, out, path, y_path, m, first) : read_together(c, out, path, m, first);
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
    jf_image_form form = {.size = sizeof(jf_image_form)};
    if (first[0] == 'z' || !option_is_known(c->arguments, "y")) return pairs_read(c, out, path, m, first);
    if (jf_model_image_form(&form, m) != JF_OK) return cli_fail_library(c);
    int with_y = option_given(c->arguments, "y"), array = form.h > 0 && cli_ends_with(path, ".npy");
    if (given_is_image(c, &form, path) || (with_y && array)) return pairs_of_images(c, out, path, m);
    if (with_y && form.h > 0)
        return cli_misuse(c->command,
                          "-y: found \"%s\", a table, which has the columns of y; -y is for images", path);
    return pairs_read(c, out, path, m, first);
}

int pairs_answer(const call *c, const char *first, pairs_fn answer) {
    const char *path = option_text(c->arguments, "output");
    jf_model *m = NULL;
    pairs data = {0};
    int code = tables_check_output(c, path, ".csv .npy");
    if (code == CLI_OK) code = cli_join_ranks(c);
    if (code == CLI_OK) code = cli_load_model(c, &m, argument(c->arguments, 0));
    if (code == CLI_OK && option_given(c->arguments, "standardised") && cli_has_class_column(m))
        code = cli_misuse(c->command, "--standardised: y of this model is a class, which has no such units");
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
    unsigned char *is_class; /* (columns): it holds labels of `model`, whose names are written */
    const jf_model *model;   /* NULL: there is no such column */
} sheet;

static void sheet_free(sheet *s) {
    for (size_t i = 0; s->names && i < s->table.columns; i++) free(s->names[i]);
    free(s->names);
    free(s->is_class);
    free(s->table.values);
}

static char *column_name(const columns *part, size_t k) {
    const char *known = part->named_by ? jf_model_column_name(part->named_by, part->first + (int)k) : "";
    if (part->unnumbered) return cli_join("%s", part->name);
    if (!*known) return cli_join("%s%zu", part->name, k);
    return part->prefixed ? cli_join("%s_%s", part->name, known) : cli_join("%s", known);
}

static int is_label(const columns *part) {
    return part->named_by && part->first > 0 && jf_model_classes(part->named_by) > 0 &&
           strcmp(jf_model_data_set(part->named_by), "table") == 0;
}

/* y of a class, which a table has as one column. */
static int is_class(const columns *part) {
    return part->named_by && part->first > 0 && cli_has_class_column(part->named_by);
}

static size_t width_of(const columns *part) {
    return is_class(part) ? 1 : (size_t)part->count;
}

static int sheet_fill(sheet *s, int rows, const columns *parts, int part_count) {
    size_t width = 0, at = 0;
    for (int i = 0; i < part_count; i++) width += width_of(&parts[i]);
    s->table = (jf_table){calloc((size_t)rows * width + 1, sizeof(double)), (size_t)rows, width};
    s->names = calloc(width + 1, sizeof *s->names);
    s->is_class = calloc(width + 1, sizeof *s->is_class);
    if (!s->table.values || !s->names || !s->is_class) return 0;
    for (int i = 0; i < part_count; i++) {
        size_t count = (size_t)parts[i].count;
        int of_class = is_class(&parts[i]);
        for (size_t row = 0; row < (size_t)rows; row++) {
            const double *from = parts[i].values + row * count;
            double *to = s->table.values + row * width + at,
                   label = of_class ? jf_model_label_of_y(parts[i].named_by, from) : 0;
            memcpy(to, of_class ? &label : from, (of_class ? 1 : count) * sizeof(double));
        }
        for (size_t k = 0; k < width_of(&parts[i]); k++, at++) {
            if (is_label(&parts[i])) s->model = parts[i].named_by;
            s->is_class[at] = (unsigned char)is_label(&parts[i]);
            s->names[at] = column_name(&parts[i], k);
            if (!s->names[at]) return 0;
        }
    }
    return 1;
}

/* In quotes where a reader would take it for something else. */
static int print_name(const char *name, size_t column) {
    int plain = !strpbrk(name, "\",;# \t") && (*name == '_' || (*name | 32) >= 'a');
    const char *quote = plain ? "" : "\"";
    if (printf("%s%s", column ? "," : "", quote) < 0) return -1;
    for (; *name; name++)
        if (printf("%s%c", *name == '"' ? "\"" : "", *name) < 0) return -1;
    return printf("%s", quote);
}

/* The most digits of a column: on a terminal nine, or as many as resolve 1e-6 of its spread. */
static int digits_of(const jf_table *t, size_t column, int terminal) {
    enum { ALL = 17, FEW = 9 };
    double lo = INFINITY, hi = -INFINITY;
    for (size_t row = 0; terminal && row < t->rows; row++) {
        double value = t->values[row * t->columns + column];
        if (!isfinite(value)) continue; /* log p outside of a support */
        lo = fmin(lo, value);
        hi = fmax(hi, value);
    }
    if (!(hi > lo)) return ALL;
    double needed = 7 + ceil(log10(fmax(fabs(lo), fabs(hi)) / (hi - lo)));
    return needed <= FEW ? FEW : needed < ALL ? (int)needed : ALL;
}

/* The name of the class in a column of labels, unless it is the label itself. */
static const char *word_at(const sheet *s, size_t column, double value) {
    double number;
    for (int k = 0; s->model && s->is_class[column] && k < jf_model_classes(s->model); k++) {
        const char *name = jf_model_class_name(s->model, k);
        if (jf_model_label(s->model, k) == value && *name && !(number_read(name, &number) && number == value))
            return name;
    }
    return NULL;
}

/* Gives up with the first failure: there may be very many rows. */
static int print_sheet(const sheet *s) {
    size_t width = s->table.columns;
    /* Open MPI passes on what its processes print through a terminal of its own. */
    int terminal = isatty(STDOUT_FILENO) && !getenv("OMPI_COMM_WORLD_SIZE");
    int *digits = calloc(width + 1, sizeof *digits), good = 1;
    char number[CLI_NUMBER];
    if (!digits) return cli_fail_memory();
    for (size_t i = 0; i < width; i++) digits[i] = digits_of(&s->table, i, terminal);
    for (size_t i = 0; i < width && good; i++) good = print_name(s->names[i], i) >= 0;
    for (size_t i = 0; i < s->table.rows * width && good; i++) {
        const char *word = word_at(s, i % width, s->table.values[i]);
        cli_number(number, s->table.values[i], digits[i % width]);
        if (word)
            good = (i % width || putchar('\n') >= 0) && print_name(word, i % width) >= 0;
        else
            good = printf("%s%s", i % width ? "," : "\n", number) >= 0;
    }
    free(digits);
    return good && putchar('\n') >= 0 && fflush(stdout) == 0 ? CLI_OK : cli_fail_output();
}

static jf_status write_sheet(const call *c, const sheet *s, const char *path) {
    const char *const *names = (const char *const *)s->names;
    if (!s->model) return jf_table_write(c->ctx, &s->table, names, path);
    return jf_table_write_for(&s->table, s->model, names, s->is_class, path);
}

int tables_write(const call *c, const char *path, int rows, const columns *parts, int part_count) {
    sheet s = {0};
    int code;
    int filled = sheet_fill(&s, rows, parts, part_count);
    if (option_is_known(c->arguments, "standardised") && option_given(c->arguments, "standardised"))
        s.model = NULL; /* its numbers are no labels */
    if (!filled)
        code = cli_fail_memory();
    else if (!path || strcmp(path, "-") == 0)
        code = print_sheet(&s);
    else
        code = write_sheet(c, &s, path) == JF_OK ? CLI_OK : cli_fail_library(c);
    sheet_free(&s);
    return code;
}
