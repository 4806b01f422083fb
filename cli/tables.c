#include "tables.h"
#include "outputs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
