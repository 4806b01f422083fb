/* The classes of y, where data.discrete says that it is one column of them: their labels and names, which
 * class a row is of, and a column of zeros and ones for each of them in place of their number (data.one_hot).
 *
 * Invariant: labels ascend. They are the values of y, or 0, 1, ... where y is text. */
#include "base/memory.h"
#include "base/number.h"
#include "data/sets/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- finding them ---- */

/* Of a row of the set, from `rows` on those held out. */
static double value_of(const dataset *d, long row) {
    const table *own = d->own;
    return row_file_value(own->y_file, (size_t)table_file_row(d, row), own->y_columns[0]);
}

static size_t words_of(const dataset *d) {
    const table *own = d->own;
    return row_file_words(own->y_file, own->y_columns[0]);
}

static const char *word_at(const dataset *d, size_t k) {
    const table *own = d->own;
    return row_file_word(own->y_file, own->y_columns[0], k);
}

static jf_status refuse_many(const dataset *d, size_t file_row) {
    return jf_fail(d->ctx, JF_ERROR_DATA,
                   "%s: y has more than %d different values by row %zu, expected at most %d since "
                   "data.discrete says that it is a class",
                   row_file_path(((const table *)d->own)->y_file), MAX_CLASSES, file_row + 1, MAX_CLASSES);
}

/* Keeps labels in their order. */
static void insert_label(dataset *d, double label) {
    int k = d->classes++;
    for (; k > 0 && d->label[k - 1] > label; k--) d->label[k] = d->label[k - 1];
    d->label[k] = label;
}

static int find_label(const dataset *d, double label) {
    for (int k = 0; k < d->classes; k++)
        if (d->label[k] == label) return k;
    return -1;
}

static jf_status collect_labels(dataset *d) {
    const table *own = d->own;
    for (size_t row = 0; row < (size_t)(d->rows + d->validation_rows); row++) {
        size_t file_row = table_complete_row(d, row);
        double y = row_file_value(own->y_file, file_row, own->y_columns[0]);
        if (find_label(d, y) >= 0) continue;
        if (d->classes == MAX_CLASSES) return refuse_many(d, file_row);
        insert_label(d, y);
    }
    for (int k = 0; k < d->classes; k++) number_shortest(((table *)d->own)->class_text[k], d->label[k]);
    return JF_OK;
}

/* ---- by name ---- */

static jf_status add_name(dataset *d, const char *name) {
    table *own = d->own;
    size_t length = strlen(name);
    if (length == 0 || length >= MAX_CLASS_NAME)
        return jf_fail(d->ctx, JF_ERROR_DATA, "%s: class \"%s\" has %zu bytes, expected a name of 1 to %d",
                       row_file_path(own->y_file), name, length, MAX_CLASS_NAME - 1);
    for (int k = 0; k < d->classes; k++)
        if (strcmp(own->class_text[k], name) == 0)
            return jf_fail(d->ctx, JF_ERROR_DATA, "class \"%s\" stands twice, expected each once", name);
    memcpy(own->class_text[d->classes++], name, length + 1);
    return JF_OK;
}

static jf_status add_names(dataset *d, const char *list) {
    char *name;
    size_t count = list[0] ? row_names_count(list) : words_of(d);
    jf_status status = JF_OK;
    if (count > MAX_CLASSES)
        return jf_fail(d->ctx, JF_ERROR_DATA, "data.classes: found %zu classes, expected at most %d", count,
                       MAX_CLASSES);
    JF_TRY(MEM_NEW(d->ctx, &name, strlen(list) + 1));
    if (list[0])
        while (status == JF_OK && row_names_next(&list, name)) status = add_name(d, name);
    else
        for (size_t k = 0; status == JF_OK && k < count; k++) status = add_name(d, word_at(d, k));
    free(name);
    return status;
}

/* Names that are different numbers are labels, and sorted by them; the labels of other names are 0, 1, ... */
static void label_names(dataset *d) {
    table *own = d->own;
    char sorted[MAX_CLASSES][MAX_CLASS_NAME];
    double number[MAX_CLASSES];
    int classes = d->classes, numbers = 1;
    for (d->classes = 0; numbers && d->classes < classes;) {
        const char *name = own->class_text[d->classes];
        numbers = number_scan(name, &number[d->classes]) == strlen(name) && isfinite(number[d->classes]) &&
                  find_label(d, number[d->classes]) < 0;
        if (numbers) insert_label(d, number[d->classes]);
    }
    d->classes = classes;
    for (int k = 0; k < classes; k++) {
        if (!numbers) d->label[k] = k;
        memcpy(sorted[numbers ? find_label(d, number[k]) : k], own->class_text[k], MAX_CLASS_NAME);
    }
    memcpy(own->class_text, sorted, sizeof sorted);
}

/* ---- checking ---- */

static jf_status refuse_value(const dataset *d, long row, const char *word) {
    text known = {0};
    char place[512], digits[NUMBER_SIZE];
    for (int k = 0; k < d->classes; k++) text_add(&known, "%s%s", k ? ", " : "", d->class_name[k]);
    number_shortest(digits, value_of(d, row));
    jf_status status = jf_fail(d->ctx, JF_ERROR_DATA, "%s is %s, which is no class, expected one of %s",
                               table_place(d, (size_t)table_file_row(d, row), d->dim_x, place, sizeof place),
                               word ? word : digits, known.chars ? known.chars : "");
    text_free(&known);
    return status;
}

/* -1: of none */
static int class_of_value(const dataset *d, double value) {
    size_t words = words_of(d);
    if (words == 0) return find_label(d, value);
    return value >= 0 && value < (double)words && value == floor(value)
               ? ((const table *)d->own)->class_of_word[(size_t)value]
               : -1;
}

static jf_status check_rows(const dataset *d) {
    for (long row = 0; row < d->rows + d->validation_rows; row++) {
        double value = value_of(d, row);
        int known = value >= 0 && value < (double)words_of(d);
        if (class_of_value(d, value) < 0)
            return refuse_value(d, row, known ? word_at(d, (size_t)value) : NULL);
    }
    return JF_OK;
}

static void match_words(dataset *d) {
    table *own = d->own;
    for (size_t k = 0; k < words_of(d); k++) {
        int c = d->classes - 1;
        while (c >= 0 && strcmp(own->class_text[c], word_at(d, k)) != 0) c--;
        own->class_of_word[k] = c;
    }
}

jf_status table_find_classes(dataset *d, const recipe *r) {
    table *own = d->own;
    const char *list = recipe_get(r, "data.classes");
    int by_name = list[0] || words_of(d) > 0;
    JF_TRY(by_name ? add_names(d, list) : collect_labels(d));
    if (by_name) label_names(d);
    for (int k = 0; k < d->classes; k++) d->class_name[k] = own->class_text[k];
    match_words(d);
    return check_rows(d);
}

int table_row_class(const dataset *d, long row) {
    int k = class_of_value(d, value_of(d, row));
    return k < 0 ? d->classes - 1 : k; /* all were met before, unless the file has changed since */
}

/* ---- a column for each ---- */

static jf_status check_trained(const dataset *d) {
    long count[MAX_CLASSES] = {0};
    for (long row = 0; row < d->rows; row++) count[table_row_class(d, row)]++;
    for (int k = 0; k < d->classes && !d->is_test; k++)
        if (count[k] == 0)
            return jf_fail(
                d->ctx, JF_ERROR_DATA,
                "%s: none of the %ld rows to train on is of class %s, expected one at least: leave "
                "its rows out, or hold fewer out (data.validation)",
                row_file_path(((const table *)d->own)->y_file), d->rows, d->class_name[k]);
    return JF_OK;
}

/* All of them have the name of the column that they are made of. */
static jf_status spread_names(dataset *d) {
    table *own = d->own;
    const char **names;
    if (!d->names) return JF_OK;
    JF_TRY(MEM_NEW(d->ctx, &names, (size_t)(d->dim_x + d->classes)));
    memcpy(names, own->names, (size_t)d->dim_x * sizeof *names);
    for (int k = 0; k < d->classes; k++) names[d->dim_x + k] = own->names[d->dim_x];
    free(own->names);
    d->names = own->names = names;
    return JF_OK;
}

static jf_status spread_support(dataset *d) {
    column_support *support;
    if (!d->support) return JF_OK;
    JF_TRY(MEM_NEW(d->ctx, &support, (size_t)(d->dim_x + d->classes)));
    memcpy(support, d->support, (size_t)d->dim_x * sizeof *support);
    for (int k = 0; k < d->classes; k++) support[d->dim_x + k] = d->support[d->dim_x];
    free(d->support);
    d->support = support;
    return JF_OK;
}

jf_status table_make_planes(dataset *d) {
    if (d->classes < 2)
        return jf_fail(d->ctx, JF_ERROR_DATA, "%s: y has %d class, expected at least two for data.one_hot",
                       row_file_path(((const table *)d->own)->y_file), d->classes);
    JF_TRY(check_trained(d));
    JF_TRY(spread_names(d));
    JF_TRY(spread_support(d));
    d->dim_y = d->planes = d->classes;
    return JF_OK;
}
