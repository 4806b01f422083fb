/* The classes of y, where data.discrete says that it is one column of them: their labels and names, which class a row is of,
 * and a column of zeros and ones for each of them in place of their number (data.one_hot).
 *
 * Invariant: labels ascend. They are the values of y, or 0, 1, ... where y is text. */
#include "base/memory.h"
#include "base/number.h"
#include "data/sets/table.h"
#include <stdlib.h>
#include <string.h>

/* ---- finding them ---- */

/* Of a row of the set, from `rows` on those held out. */
static double value_of(const dataset *d, long row) {
    const table *own = d->own;
    return row_file_value(own->y_file, (size_t)table_file_row(d, row), own->y_columns[0]);
}

static jf_status refuse_many(const dataset *d, long row) {
    return jf_fail(d->ctx, JF_ERROR_DATA,
                   "%s: y has more than %d different values by row %zu, expected at most %d since "
                   "data.discrete says that it is a class",
                   row_file_path(((const table *)d->own)->y_file), MAX_CLASSES,
                   (size_t)table_file_row(d, row) + 1, MAX_CLASSES);
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
    for (long row = 0; row < d->rows + d->held; row++) {
        double y = value_of(d, row);
        if (find_label(d, y) >= 0) continue;
        if (d->classes == MAX_CLASSES) return refuse_many(d, row);
        insert_label(d, y);
    }
    return JF_OK;
}

static void name_by_labels(dataset *d) {
    table *own = d->own;
    for (int k = 0; k < d->classes; k++) number_shortest(own->class_text[k], d->label[k]);
}

/* ---- those that the recipe names ---- */

/* A list whose names are numbers is one of labels. */
static jf_status take_labels(dataset *d, const recipe *r, const char *list, char *name) {
    double label;
    while (row_names_next(&list, name)) {
        if (number_scan(name, &label) != strlen(name) || find_label(d, label) >= 0)
            return recipe_fail(r, "data.classes", "found \"%s\", expected different numbers, as y has them",
                               name);
        insert_label(d, label);
    }
    return JF_OK;
}

static jf_status take_listed(dataset *d, const recipe *r, const char *list) {
    char *name;
    if (row_names_count(list) > MAX_CLASSES)
        return recipe_fail(r, "data.classes", "found %zu classes, expected at most %d", row_names_count(list),
                           MAX_CLASSES);
    JF_TRY(MEM_NEW(d->ctx, &name, strlen(list) + 1));
    jf_status status = take_labels(d, r, list, name);
    free(name);
    return status;
}

/* ---- checking ---- */

static jf_status refuse_value(const dataset *d, long row) {
    text known = {0};
    char place[512];
    for (int k = 0; k < d->classes; k++) text_add(&known, "%s%s", k ? ", " : "", d->class_name[k]);
    jf_status status = jf_fail(d->ctx, JF_ERROR_DATA, "%s is %g, which is no class, expected one of %s",
                               table_place(d, (size_t)table_file_row(d, row), d->dim_x, place, sizeof place),
                               value_of(d, row), known.chars ? known.chars : "");
    text_free(&known);
    return status;
}

static jf_status check_rows(const dataset *d) {
    for (long row = 0; row < d->rows + d->held; row++)
        if (find_label(d, value_of(d, row)) < 0) return refuse_value(d, row);
    return JF_OK;
}

jf_status table_find_classes(dataset *d, const recipe *r) {
    table *own = d->own;
    const char *list = recipe_get(r, "data.classes");
    JF_TRY(list[0] ? take_listed(d, r, list) : collect_labels(d));
    name_by_labels(d);
    for (int k = 0; k < d->classes; k++) d->class_name[k] = own->class_text[k];
    return list[0] ? check_rows(d) : JF_OK;
}

int table_row_class(const dataset *d, long row) {
    int k = find_label(d, value_of(d, row));
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
