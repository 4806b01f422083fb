/* Reads -y VALUES: "0,1"  "0:6.28:0.785"  "circle,grid"  "0.1,0.2;0.3,0.4"  "@FILE". The option may be
 * repeated, with any mixture of these.
 *
 * A condition of one dimension, or of a class, takes a list of values, names and ranges; one of more takes
 * vectors, separated by semicolons, of numbers only. A condition that is an image takes files of images. */
#include "conditions.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONDITIONS = 1000000, MOST_NUMBERS = 1 << 25 /* of all conditions */, MOST_WORDS = 2560 };

typedef struct reader {
    const call *c;
    const jf_model *m;
    conditions *out;
    const conditions_request *request;
} reader;

void conditions_free(conditions *y) {
    for (size_t i = 0; y->images && i < y->count; i++) free(y->images[i].name);
    for (size_t i = 0; i < y->source_count; i++) jf_image_conditions_free(&y->sources[i]);
    free(y->images);
    free(y->sources);
    free(y->values);
    *y = (conditions){0};
}

static int takes_images(const conditions *y) {
    return y->form.input_h > 0;
}

/* Values of a list are one number each: y is one, or a class, which fills all elements of y. */
static int takes_numbers(const reader *in) {
    return in->out->dim == 1 || jf_model_classes(in->m) > 0;
}

static int grow(conditions *y) {
    size_t room = y->room ? 2 * y->room : 16;
    double *values = realloc(y->values, room * (size_t)y->dim * sizeof *values);
    if (!values) return 0;
    y->values = values;
    if (takes_images(y)) {
        condition_image *images = realloc(y->images, room * sizeof *images);
        if (!images) return 0;
        y->images = images;
    }
    y->room = room;
    return 1;
}

static int add(reader *in, const double *row) {
    conditions *y = in->out;
    if (y->count == MOST_CONDITIONS)
        return cli_misuse(in->c->command, "%s: more than %d conditions", in->request->shown, MOST_CONDITIONS);
    if ((y->count + 1) * (size_t)y->dim > MOST_NUMBERS)
        return cli_misuse(in->c->command,
                          "%s: more than %zu conditions of %d numbers each: ask for them in parts",
                          in->request->shown, y->count, y->dim);
    if (y->count == y->room && !grow(y)) return cli_fail_memory();
    memcpy(y->values + y->count * (size_t)y->dim, row, (size_t)y->dim * sizeof *row);
    if (y->images) y->images[y->count] = (condition_image){0};
    y->count++;
    return CLI_OK;
}

/* y of a label; otherwise the same number in all elements. */
static int add_number(reader *in, double value) {
    size_t dim = (size_t)in->out->dim;
    double *row = malloc(dim * sizeof *row);
    if (!row) return cli_fail_memory();
    for (size_t i = 0; i < dim; i++) row[i] = value;
    int of_label = jf_model_classes(in->m) > 0 && !in->request->standardised, code = CLI_OK;
    if (of_label && jf_model_y_of_label(in->m, value, row) != JF_OK) code = cli_fail_library(in->c);
    if (code == CLI_OK) code = add(in, row);
    free(row);
    return code;
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
    char classes[MOST_WORDS];
    describe_classes(in->m, classes, sizeof classes);
    if (cli_has_class_column(in->m))
        return cli_misuse(in->c->command, "%s: found \"%s\", which is no class, expected%s",
                          in->request->shown, word, strchr(classes, ' ') + strlen(" or"));
    return cli_misuse(in->c->command, "%s: found \"%s\", expected a number, a range FROM:TO:STEP%s",
                      in->request->shown, word, classes);
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
                          "%s: found \"%s\", expected a step that leads from %g to %g in at most %d steps",
                          in->request->shown, whole, range[0], range[1], MOST_CONDITIONS);
    int code = CLI_OK;
    for (int i = 0; code == CLI_OK && i <= (int)steps; i++) code = add_number(in, range[0] + i * range[2]);
    return code;
}

static int add_word(reader *in, char *word) {
    double label, value;
    int named = find_class(in->m, word, &label), number = number_read(word, &value);
    if (named && !in->request->standardised)
        return add_number(in, label); /* "8" may be a class with another label */
    if (number) return add_number(in, value);
    if (named)
        return cli_misuse(in->c->command,
                          "%s: class \"%s\" is a value in the data's units, not --standardised",
                          in->request->shown, word);
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
            code =
                cli_misuse(in->c->command, "%s: found \"%s\", expected a number", in->request->shown, word);
        else if (found < dim)
            row[found] = value;
        found++;
    }
    if (code == CLI_OK && found != dim)
        code = cli_misuse(in->c->command, "%s: a vector of %d number%s, expected %d for this model",
                          in->request->shown, found, found == 1 ? "" : "s", dim);
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

/* Rows of a table: whole conditions, or one number each where that is enough. */
static int add_table(reader *in, const char *path) {
    jf_table t;
    int dim = in->out->dim;
    if (jf_table_read_for(&t, in->m, path, jf_model_dim_x(in->m), dim) != JF_OK)
        return cli_fail_library(in->c);
    int code = CLI_OK, numbers = takes_numbers(in) && t.columns == 1;
    if (t.columns != (size_t)dim && !numbers)
        code = cli_fail("%s: found %zu column%s, expected %d of y", path, t.columns,
                        t.columns == 1 ? "" : "s", dim);
    for (size_t row = 0; code == CLI_OK && row < t.rows; row++)
        code = numbers ? add_number(in, t.values[row]) : add(in, t.values + row * t.columns);
    jf_table_free(&t);
    return code;
}

/* ---- images ---- */

/* Where a whole image is degraded first: to standard error, as standard output may hold a table. */
static void tell_degraded(const char *name, const jf_images *whole, const jf_images *input) {
    if (whole->h == input->h && whole->w == input->w)
        fprintf(stderr, "jointflow: note: %s: a whole image of %d x %d, degraded first\n", name, whole->h,
                whole->w);
    else
        fprintf(stderr, "jointflow: note: %s: a whole image of %d x %d, degraded to %d x %d first\n", name,
                whole->h, whole->w, input->h, input->w);
}

static jf_grid_cell cell_of(const jf_images *images, size_t index) {
    if (images->count == 0) return (jf_grid_cell){0};
    size_t size = (size_t)images->h * (size_t)images->w * (size_t)images->channels;
    return (jf_grid_cell){images->values + index * size, images->h, images->w, images->channels, 0};
}

/* Keeps `made`, whatever happens. */
static int add_source(reader *in, const char *name, jf_image_conditions made) {
    conditions *y = in->out;
    size_t n = (size_t)made.inputs.count, dim = (size_t)y->dim;
    jf_image_conditions *sources = realloc(y->sources, (y->source_count + 1) * sizeof *sources);
    if (!sources) {
        jf_image_conditions_free(&made);
        return cli_fail_memory();
    }
    y->sources = sources;
    y->sources[y->source_count++] = made;
    if (made.whole.count) tell_degraded(name, &made.whole, &made.inputs);
    int code = CLI_OK;
    for (size_t i = 0; code == CLI_OK && i < n; i++) {
        code = add(in, made.y + i * dim);
        if (code != CLI_OK) break;
        y->images[y->count - 1] =
            (condition_image){.input = cell_of(&made.inputs, i),
                              .truth = cell_of(&made.whole, i),
                              .name = n > 1 ? cli_join("%s %zu", name, i) : cli_join("%s", name)};
        if (!y->images[y->count - 1].name) code = cli_fail_memory();
    }
    return code;
}

static int add_images(reader *in, const char *name, const jf_images *images, int degrade) {
    jf_image_conditions made = {.size = sizeof(jf_image_conditions)};
    /* as many different streams as there are sources, for tasks whose degradation is random */
    if (jf_image_conditions_create(&made, in->m, images, degrade, in->out->source_count) != JF_OK)
        return cli_fail("%s: %s", name, jf_context_error(in->c->ctx));
    return add_source(in, name, made);
}

static int add_image_file(reader *in, const char *path) {
    jf_images images;
    const char *slash = strrchr(path, '/');
    if ((in->out->form.masked ? jf_images_read_masked : jf_images_read)(&images, in->c->ctx, path) != JF_OK)
        return cli_fail_library(in->c);
    int code = add_images(in, slash ? slash + 1 : path, &images, in->request->degrade);
    jf_images_free(&images);
    return code;
}

/* "3,8": rows of the model's own data. */
static int add_data_rows(reader *in, char *text) {
    int code = CLI_OK;
    char *word, name[48];
    double row;
    while (code == CLI_OK && (word = next_part(&text, ',')) != NULL) {
        jf_images image;
        if (!number_read(word, &row) || row < 0 || row != floor(row) || row > 1e9)
            return cli_misuse(in->c->command, "--row: found \"%s\", expected whole numbers from 0 on: 3,8",
                              word);
        if (jf_data_image(&image, in->m, (long)row, 0) != JF_OK) return cli_fail_library(in->c);
        snprintf(name, sizeof name, "row %ld", (long)row);
        code = add_images(in, name, &image, 1);
        jf_images_free(&image);
    }
    return code;
}

static int refuse_no_image(const reader *in, const char *item) {
    const jf_image_form *form = &in->out->form;
    return cli_misuse(in->c->command,
                      "%s: found \"%s\", but this model answers to images (%s, %d x %d): expected @FILE, "
                      ".png, .jpg or .npy",
                      in->request->shown, item, form->task, form->input_h, form->input_w);
}

/* ---- all of them ---- */

static int add_file(reader *in, const char *path) {
    return takes_images(in->out) && (cli_ends_with(path, ".npy") || !cli_is_table(path))
               ? add_image_file(in, path)
               : add_table(in, path);
}

static int add_text(reader *in, const char *item, int (*add_parts)(reader *, char *)) {
    char *text = cli_join("%s", item);
    if (!text) return cli_fail_memory();
    int code = add_parts(in, text);
    free(text);
    return code;
}

static int add_item(reader *in, const char *item) {
    double label;
    if (*item && !in->request->standardised && find_class(in->m, item, &label))
        return add_number(in, label); /* its name may hold a comma */
    if (*item == '@') return add_file(in, item + 1);
    if (takes_images(in->out)) return refuse_no_image(in, item);
    return add_text(in, item, takes_numbers(in) ? add_list : add_vectors);
}

static int refuse_nothing(const reader *in) {
    const conditions *y = in->out;
    char classes[MOST_WORDS];
    if (takes_images(y))
        return cli_misuse(in->c->command,
                          "%s is missing: this model answers to images of %d x %d (%s); expected @FILE, a "
                          ".png, .jpg or .npy "
                          "file of one, or of a whole one of %d x %d",
                          in->request->shown, y->form.input_h, y->form.input_w, y->form.task, y->form.h,
                          y->form.w);
    describe_classes(in->m, classes, sizeof classes);
    return cli_misuse(in->c->command, "%s is missing: this model needs a condition of %d number%s%s",
                      in->request->shown, takes_numbers(in) ? 1 : y->dim,
                      takes_numbers(in) || y->dim == 1 ? "" : "s", classes);
}

static int add_classes(reader *in) {
    int code = CLI_OK;
    for (int i = 0; code == CLI_OK && i < jf_model_classes(in->m); i++)
        code = add_number(in, jf_model_label(in->m, i));
    return code;
}

static int read_all(reader *in, const char *first) {
    const call *c = in->c;
    const conditions_request *request = in->request;
    conditions *out = in->out;
    const char *item = first;
    int code = CLI_OK;
    if (out->dim == 0) {
        if (item)
            return cli_misuse(c->command, "%s: found \"%s\", but this model has no condition", request->shown,
                              item);
        out->count = 1;
        return CLI_OK;
    }
    if (request->rows && !takes_images(out))
        return cli_misuse(c->command, "--row: the conditions of this model are not images, expected %s",
                          request->shown);
    if (request->standardised && cli_has_class_column(in->m))
        return cli_misuse(c->command, "--standardised: y of this model is a class, which has no such units");
    if (!item && request->all_classes && jf_model_classes(in->m) && !request->standardised)
        return add_classes(in);
    if (!item && !request->rows) return refuse_nothing(in);
    for (int i = 0; code == CLI_OK && (item = option_item(c->arguments, request->option, i)) != NULL; i++)
        code = add_item(in, item);
    if (code == CLI_OK && request->rows) code = add_text(in, request->rows, add_data_rows);
    if (code == CLI_OK && out->count == 0)
        code = cli_misuse(c->command, "%s: no condition in it", request->shown);
    return code;
}

int conditions_read(const call *c, const jf_model *m, const conditions_request *request, conditions *out) {
    *out = (conditions){.dim = jf_model_dim_y(m)};
    reader in = {c, m, out, request};
    out->form.size = sizeof out->form;
    if (jf_model_image_form(&out->form, m) != JF_OK) return cli_fail_library(c);
    int code = read_all(&in, option_item(c->arguments, request->option, 0));
    if (code != CLI_OK) conditions_free(out);
    return code;
}
