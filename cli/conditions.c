/* -y VALUES: "0,1"  "0:6.28:0.785"  "circle,grid"  "0.1,0.2;0.3,0.4"  "@FILE", in any mixture of repetitions.
 *
 * A condition of one dimension takes a list of values, names and ranges; one of more takes vectors, separated
 * by semicolons, of numbers only. */
#include "conditions.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONDITIONS = 1000000 };

typedef struct reader {
    const call *c;
    const jf_model *m;
    conditions *out;
    int standardised;
} reader;

void conditions_free(conditions *y) {
    free(y->values);
    *y = (conditions){0};
}

static int add(reader *in, const double *row) {
    conditions *y = in->out;
    if (y->count == MOST_CONDITIONS)
        return cli_misuse(in->c->command, "-y: more than %d conditions", MOST_CONDITIONS);
    if (y->count == y->room) {
        size_t room = y->room ? 2 * y->room : 16;
        double *values = realloc(y->values, room * (size_t)y->dim * sizeof *values);
        if (!values) return cli_fail_memory();
        y->values = values;
        y->room = room;
    }
    memcpy(y->values + y->count * (size_t)y->dim, row, (size_t)y->dim * sizeof *row);
    y->count++;
    return CLI_OK;
}

/* ---- words ---- */

/* ", or one of circle, grid" where the model has named classes. */
static void describe_classes(const jf_model *m, char *out, size_t size) {
    size_t used = 0;
    *out = 0;
    for (int i = 0; i < jf_model_classes(m); i++) {
        const char *name = jf_model_class_name(m, i);
        if (!*name || used >= size) continue;
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : ", or one of ", name);
    }
}

static int find_class(const jf_model *m, const char *name, double *label) {
    for (int i = 0; i < jf_model_classes(m); i++) {
        if (strcmp(jf_model_class_name(m, i), name) != 0) continue;
        *label = jf_model_label(m, i);
        return 1;
    }
    return 0;
}

static int refuse_word(const reader *in, const char *word) {
    char classes[512];
    describe_classes(in->m, classes, sizeof classes);
    return cli_misuse(in->c->command, "-y: found \"%s\", expected a number, a range FROM:TO:STEP%s", word,
                      classes);
}

/* FROM:TO:STEP; `word` may be written to. */
static int add_range(reader *in, char *word) {
    double range[3]; /* from, to, step */
    char *part = word, whole[128];
    snprintf(whole, sizeof whole, "%s", word);
    for (int i = 0; i < 3; i++) {
        char *colon = strchr(part, ':');
        if ((colon != NULL) != (i < 2)) return refuse_word(in, whole);
        if (colon) *colon = 0;
        if (!number_read(part, &range[i])) return refuse_word(in, whole);
        part = colon ? colon + 1 : part;
    }
    /* 1e-9: 0:1:0.1 ends with 1 whatever the tenths round to */
    double steps = floor((range[1] - range[0]) / range[2] + 1e-9);
    if (!(steps >= 0) || steps >= MOST_CONDITIONS)
        return cli_misuse(in->c->command,
                          "-y: found \"%s\", expected a step that leads from %g to %g in at most %d steps",
                          whole, range[0], range[1], MOST_CONDITIONS);
    int code = CLI_OK;
    for (int i = 0; code == CLI_OK && i <= (int)steps; i++) {
        double value = range[0] + i * range[2];
        code = add(in, &value);
    }
    return code;
}

static int add_word(reader *in, char *word) {
    double value;
    if (number_read(word, &value)) return add(in, &value);
    if (find_class(in->m, word, &value)) {
        if (in->standardised)
            return cli_misuse(in->c->command,
                              "-y: class \"%s\" is a value in the data's units, not --standardised", word);
        return add(in, &value);
    }
    if (strchr(word, ':')) return add_range(in, word);
    return refuse_word(in, word);
}

/* ---- lists, vectors, files ---- */

/* Cuts the part before the next `separator` off; NULL past the last. */
static char *next_part(char **rest, char separator) {
    char *part = *rest;
    if (!part) return NULL;
    char *end = strchr(part, separator);
    *rest = end ? end + 1 : NULL;
    if (end) *end = 0;
    part += strspn(part, " ");
    for (size_t length = strlen(part); length && part[length - 1] == ' ';) part[--length] = 0;
    return part;
}

static int add_list(reader *in, char *text) {
    int code = CLI_OK;
    char *word;
    for (char *c = text; *c; c++)
        if (*c == ';') *c = ',';
    while (code == CLI_OK && (word = next_part(&text, ',')) != NULL) code = add_word(in, word);
    return code;
}

static int add_vector(reader *in, char *text) {
    int dim = in->out->dim, found = 0;
    double *row = calloc((size_t)dim, sizeof *row), value;
    if (!row) return cli_fail_memory();
    char *word;
    int code = CLI_OK;
    while (code == CLI_OK && (word = next_part(&text, ',')) != NULL) {
        if (!number_read(word, &value))
            code = cli_misuse(in->c->command, "-y: found \"%s\", expected a number", word);
        else if (found < dim)
            row[found] = value;
        found++;
    }
    if (code == CLI_OK && found != dim)
        code = cli_misuse(in->c->command, "-y: a vector of %d number%s, expected %d for this model", found,
                          found == 1 ? "" : "s", dim);
    if (code == CLI_OK) code = add(in, row);
    free(row);
    return code;
}

static int add_vectors(reader *in, char *text) {
    int code = CLI_OK;
    char *vector;
    while (code == CLI_OK && (vector = next_part(&text, ';')) != NULL) code = add_vector(in, vector);
    return code;
}

static int add_file(reader *in, const char *path) {
    jf_table t;
    if (jf_table_read(in->c->ctx, &t, path) != JF_OK) return cli_fail_library(in->c);
    int code = CLI_OK, dim = in->out->dim;
    if (t.columns != (size_t)dim)
        code = cli_fail("%s: found %zu column%s, expected %d of y", path, t.columns,
                        t.columns == 1 ? "" : "s", dim);
    for (size_t row = 0; code == CLI_OK && row < t.rows; row++) code = add(in, t.values + row * t.columns);
    jf_table_free(&t);
    return code;
}

static int add_item(reader *in, const char *item) {
    if (*item == '@') return add_file(in, item + 1);
    char *text = cli_join("%s", item);
    if (!text) return cli_fail_memory();
    int code = in->out->dim == 1 ? add_list(in, text) : add_vectors(in, text);
    free(text);
    return code;
}

int conditions_read(const call *c, const jf_model *m, conditions *out) {
    *out = (conditions){.dim = jf_model_dim_y(m)};
    reader in = {c, m, out, option_given(c->arguments, "standardised")};
    const char *item = option_item(c->arguments, "y", 0);
    if (out->dim == 0) {
        if (item) return cli_misuse(c->command, "-y: found \"%s\", but this model has no condition", item);
        out->count = 1;
        return CLI_OK;
    }
    if (!item) {
        char classes[512];
        describe_classes(m, classes, sizeof classes);
        return cli_misuse(c->command, "-y is missing: this model needs a condition of %d number%s%s",
                          out->dim, out->dim == 1 ? "" : "s", classes);
    }
    int code = CLI_OK;
    for (int i = 0; code == CLI_OK && (item = option_item(c->arguments, "y", i)) != NULL; i++)
        code = add_item(&in, item);
    if (code == CLI_OK && out->count == 0) code = cli_misuse(c->command, "-y: no condition in it");
    if (code != CLI_OK) conditions_free(out);
    return code;
}
