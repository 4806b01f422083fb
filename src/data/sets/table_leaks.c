/* Columns of x that follow from y, or from other columns of x: such an x has no density, and a flow would
 * stretch it without bound.
 *
 * A sample of the rows is standardised, and the columns go through Cholesky's elimination of their
 * correlations, y first. What is left of a column of x is its variance given all columns before it. Columns
 * without such an equation are then compared with each other one, whose function they may be. */
#include "base/memory.h"
#include "base/number.h"
#include "data/follows.h"
#include "data/sets/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_LEFT 1e-9 /* of the variance: less is rounding */
#define MOST_OFF   1e-3 /* of the median distance from the median, in any row */
#define LEAST_PART 1e-5 /* coefficients of standardised columns that are smaller are rounding */
enum { MOST_ROWS = 20000, LEAST_ROWS = 10, ROWS_A_COLUMN = 3, MOST_TOLD = 4, MOST_TERMS = 6 };
#define MOST_PRODUCTS 2e8      /* of the correlations, a fraction of a second */
enum { MOST_COMPARED = 4000 }; /* rows that functions are looked for in */
#define MOST_PREDICTED 4e7     /* rows for each pair of columns, likewise */

/* Columns are those of y, then those of x. */
typedef struct leaks {
    const dataset *d;
    int dim, dim_y;
    long rows, step;
    double *z;                /* (rows, dim), standardised */
    double *mean, *deviation; /* (dim); 0: a constant */
    double *correlation;      /* (dim, dim), symmetric */
    double *factor;           /* (dim, dim), lower: row i is of column i, in terms of the kept columns */
    int *kept;                /* (dim) columns that do not follow from those before; saved_count of them */
    int saved_count;
    double *part;   /* (dim) coefficients of one equation */
    double *sorted; /* (rows) */
    int *follows;   /* (dim) columns that were named */
    int named;
    /* functions */
    long room, compared;     /* rows */
    double *columns;         /* (dim + 1, room); the last: numbers of different rows */
    follows_source *source;  /* (room) */
    follows_target *targets; /* (dim) */
} leaks;

static int element_of(const leaks *l, int column) {
    return column < l->dim_y ? l->d->dim_x + column : column - l->dim_y;
}

/* ---- correlations ---- */

static void take_rows(leaks *l) {
    const dataset *d = l->d;
    for (long at = 0; at < l->rows; at++) {
        double *row = l->z + at * l->dim;
        table_take(d, at * l->step, row + l->dim_y, row);
        for (int i = 0; i < l->dim; i++) l->mean[i] += (row[i] - l->mean[i]) / (double)(at + 1);
    }
}

static void standardise(leaks *l) {
    for (int i = 0; i < l->dim; i++) {
        double sum = 0;
        for (long at = 0; at < l->rows; at++)
            sum += pow(l->z[at * l->dim + i] - l->mean[i], 2) / (double)l->rows;
        l->deviation[i] = sum > 0 && isfinite(sum) ? sqrt(sum) : 0;
        for (long at = 0; at < l->rows; at++) {
            double *z = &l->z[at * l->dim + i];
            *z = l->deviation[i] > 0 ? (*z - l->mean[i]) / l->deviation[i] : 0;
        }
    }
}

static void correlate(leaks *l) {
    int dim = l->dim;
    for (long at = 0; at < l->rows; at++) {
        const double *z = l->z + at * dim;
        for (int i = 0; i < dim; i++)
            for (int k = 0; k <= i; k++) l->correlation[i * dim + k] += z[i] * z[k];
    }
    for (int i = 0; i < dim; i++)
        for (int k = 0; k <= i; k++)
            l->correlation[k * dim + i] = l->correlation[i * dim + k] /= (double)l->rows;
}

/* ---- equations ---- */

/* The variance of column i that the kept columns leave, and its row of the factor. */
static double eliminate(leaks *l, int i) {
    double *row = l->factor + i * l->dim, left = l->correlation[i * l->dim + i];
    for (int k = 0; k < l->saved_count; k++) {
        const double *other = l->factor + l->kept[k] * l->dim;
        row[k] = l->correlation[i * l->dim + l->kept[k]];
        for (int j = 0; j < k; j++) row[k] -= row[j] * other[j];
        row[k] /= other[k];
        left -= row[k] * row[k];
    }
    return left;
}

static void keep(leaks *l, int i, double left) {
    l->factor[i * l->dim + l->saved_count] = sqrt(left);
    l->kept[l->saved_count++] = i;
}

/* The one column before i of which it is a multiple, plus a number; -1: there is none. */
static int find_single(const leaks *l, int i) {
    for (int k = 0; k < i; k++) {
        double r = l->correlation[i * l->dim + k];
        if (1 - r * r < LEAST_LEFT) return k;
    }
    return -1;
}

/* Column i by the kept ones: solves the triangular system of its row. */
static void solve(leaks *l, int i) {
    const double *row = l->factor + i * l->dim;
    for (int k = 0; k < l->dim; k++) l->part[k] = 0;
    for (int k = l->saved_count - 1; k >= 0; k--) {
        double sum = row[k];
        for (int j = k + 1; j < l->saved_count; j++)
            sum -= l->factor[l->kept[j] * l->dim + k] * l->part[l->kept[j]];
        l->part[l->kept[k]] = sum / l->factor[l->kept[k] * l->dim + k];
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median distance of column i from its median: outliers would hide how far other rows are off. */
static double scale_of(leaks *l, int i) {
    size_t n = (size_t)l->rows;
    for (size_t at = 0; at < n; at++) l->sorted[at] = l->z[at * (size_t)l->dim + (size_t)i];
    qsort(l->sorted, n, sizeof *l->sorted, ascending);
    double median = l->sorted[n / 2];
    for (size_t at = 0; at < n; at++) l->sorted[at] = fabs(l->sorted[at] - median);
    qsort(l->sorted, n, sizeof *l->sorted, ascending);
    return l->sorted[n / 2];
}

/* Whether the equation holds in every row. */
static int holds(leaks *l, int i) {
    double most = MOST_OFF * scale_of(l, i) + LEAST_LEFT;
    for (long at = 0; at < l->rows; at++) {
        const double *z = l->z + at * l->dim;
        double off = z[i];
        for (int k = 0; k < i; k++) off -= l->part[k] * z[k];
        if (!(fabs(off) <= most)) return 0;
    }
    return 1;
}

/* Leaves the equation of column i in l->part; 0: there is none. */
static int find_equation(leaks *l, int i) {
    int single = find_single(l, i);
    double left = eliminate(l, i);
    if (single >= 0) {
        memset(l->part, 0, (size_t)l->dim * sizeof *l->part);
        l->part[single] = l->correlation[i * l->dim + single];
        if (holds(l, i)) return 1;
    }
    if (left > LEAST_LEFT) {
        keep(l, i, left);
        return 0;
    }
    solve(l, i);
    return l->rows >= ROWS_A_COLUMN * (long)l->dim && holds(l, i);
}

/* ---- in words ---- */

static const char *name_of(const leaks *l, int column, char *out, size_t size) {
    int element = element_of(l, column);
    const char *name = dataset_name(l->d, element);
    if (name)
        format_text(out, size, "%.60s", name);
    else
        format_text(out, size, "%s%d", column < l->dim_y ? "y" : "x", column < l->dim_y ? column : element);
    return out;
}

/* " + 2 * a", at the beginning "2 * a" */
static void add_term(text *out, int first, double factor, const char *name) {
    double size = fabs(factor);
    text_add(out, "%s", first ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ");
    if (fabs(size - 1) > 1e-6) text_add(out, "%.6g * ", size);
    text_add(out, "%s", name);
}

/* "c = 2 * a + b - 1"; *of_x, *of_y: how many columns of each are in it */
static void add_equation(const leaks *l, int i, text *out, int *of_x, int *of_y) {
    char name[64];
    double constant = l->mean[i];
    int terms = 0;
    text_add(out, "%s = ", name_of(l, i, name, sizeof name));
    for (int k = 0; k < i; k++) {
        if (fabs(l->part[k]) < LEAST_PART) continue;
        double factor = l->part[k] * l->deviation[i] / l->deviation[k];
        constant -= factor * l->mean[k];
        ++*(k < l->dim_y ? of_y : of_x);
        if (terms++ < MOST_TERMS) add_term(out, terms == 1, factor, name_of(l, k, name, sizeof name));
    }
    if (terms > MOST_TERMS) text_add(out, " + %d more columns", terms - MOST_TERMS);
    if (terms <= MOST_TERMS && fabs(constant) > 1e-4 * l->deviation[i])
        text_add(out, " %c %.6g", constant < 0 ? '-' : '+', fabs(constant));
}

static void tell_consequence(const leaks *l, const char *found, int of_y_alone, const char *name) {
    if (of_y_alone)
        jf_warn(l->d->ctx,
                "%s: y says exactly what this column of x is, so that its density given y has no bound and "
                "means nothing; leave %s out of x, or out of y what is not known when the model is used",
                found, name);
    else
        jf_warn(l->d->ctx,
                "%s: densities of these columns together have no bound and mean nothing; leave %s out of x "
                "and compute it from the samples",
                found, name);
}

/* Counts column i, and says whether there is room to tell of it. */
static int name_column(leaks *l, int i) {
    l->follows[i] = 1;
    return l->named++ < MOST_TOLD;
}

static jf_status tell_equation(leaks *l, int i) {
    char name[64];
    int of_x = 0, of_y = 0;
    text found = {0};
    if (!name_column(l, i)) return JF_OK;
    add_equation(l, i, &found, &of_x, &of_y);
    text_add(&found, " in all %ld rows%s", l->rows, l->step > 1 ? " that were looked at" : "");
    jf_status status = text_check(l->d->ctx, &found);
    if (status == JF_OK) tell_consequence(l, found.chars, of_x == 0, name_of(l, i, name, sizeof name));
    text_free(&found);
    return status;
}

/* source: a column, or l->dim: all of y. */
static void tell_function(leaks *l, int i, int source, long missed) {
    char found[320], name[64], of[64] = "all of y", rows[64];
    if (!name_column(l, i)) return;
    if (source < l->dim) name_of(l, source, of, sizeof of);
    name_of(l, i, name, sizeof name);
    if (missed > 0)
        format_text(rows, sizeof rows, "%ld of %ld", l->compared - missed, l->compared);
    else
        format_text(rows, sizeof rows, "all %ld", l->compared);
    format_text(found, sizeof found, "%s is a function of %s, though not a linear one, in %s rows%s", name,
                of, rows, l->compared < l->d->rows ? " that were looked at" : "");
    tell_consequence(l, found, source < l->dim_y || source == l->dim, name);
}

/* ---- all of it ---- */

/* Constants have nothing to follow, and whole numbers are dequantised, each by itself. */
static int may_follow(const leaks *l, int i) {
    int element = element_of(l, i);
    const column_support *s = l->d->support;
    return i >= l->dim_y && !(s && s[element].kind == SUPPORT_WHOLE);
}

static jf_status look_for_equations(leaks *l) {
    take_rows(l);
    standardise(l);
    correlate(l);
    for (int i = 0; i < l->dim; i++) {
        if (l->deviation[i] == 0) continue;
        if (!may_follow(l, i)) {
            double left = eliminate(l, i);
            if (left > LEAST_LEFT) keep(l, i, left);
            continue;
        }
        if (find_equation(l, i)) JF_TRY(tell_equation(l, i));
    }
    return JF_OK;
}

/* ---- functions ---- */

/* Numbers the different values in ascending order, from 0. */
static void number_different(leaks *l, const double *values, double *number) {
    follows_source *s = l->source;
    double different = 0;
    follows_sort(values, l->compared, s);
    for (long at = 0; at < l->compared; at++) {
        different += at > 0 && s[at].value != s[at - 1].value;
        number[s[at].row] = different;
    }
}

/* Numbers the different rows of columns 0 to count - 1: those that are alike have the same number. Pairs of
 * numbers below 4,000 are numbers below 16 million, which become numbers below 4,000 again. */
static double *number_rows(leaks *l, int count) {
    double *number = l->columns + (long)l->dim * l->room;
    memset(number, 0, (size_t)l->compared * sizeof *number);
    for (int k = 0; k < count; k++) {
        number_different(l, l->columns + k * l->room, l->sorted);
        for (long at = 0; at < l->compared; at++) number[at] = number[at] * MOST_COMPARED + l->sorted[at];
        number_different(l, number, l->sorted);
        memcpy(number, l->sorted, (size_t)l->compared * sizeof *number);
    }
    return number;
}

/* Copies of rows are left out: in them every column seems to say what every other one is. */
static void take_columns(leaks *l) {
    long step = (l->rows + l->room - 1) / l->room, kept = 0;
    l->compared = (l->rows + step - 1) / step;
    for (int i = 0; i < l->dim; i++)
        for (long at = 0; at < l->compared; at++) l->columns[i * l->room + at] = l->z[at * step * l->dim + i];
    number_different(l, number_rows(l, l->dim), l->sorted);
    for (long at = 0; at < l->compared; at++) {
        if (at > 0 && l->source[at].value == l->source[at - 1].value) continue;
        l->sorted[kept++] = (double)l->source[at].row;
    }
    qsort(l->sorted, (size_t)kept, sizeof *l->sorted, ascending);
    for (int i = 0; i < l->dim; i++)
        for (long at = 0; at < kept; at++)
            l->columns[i * l->room + at] = l->columns[i * l->room + (long)l->sorted[at]];
    l->compared = kept;
}

static void look_for_functions_of(leaks *l, int source) {
    long missed;
    follows_sort(l->columns + source * l->room, l->compared, l->source);
    for (int i = l->dim_y; i < l->dim; i++) {
        if (i == source || l->follows[i] || l->deviation[i] == 0 || !may_follow(l, i)) continue;
        if (follows(l->source, &l->targets[i], l->compared, &missed)) tell_function(l, i, source, missed);
    }
}

static void look_for_functions(leaks *l) {
    take_columns(l);
    number_rows(l, l->dim_y);
    for (int i = l->dim_y; i < l->dim; i++)
        l->targets[i] = follows_measure(l->columns + i * l->room, l->compared, l->sorted);
    for (int source = 0; source < l->dim_y; source++)
        if (l->deviation[source] > 0) look_for_functions_of(l, source);
    if (l->dim_y > 1) look_for_functions_of(l, l->dim);
    for (int source = l->dim_y; source < l->dim; source++)
        if (l->deviation[source] > 0 && !l->follows[source]) look_for_functions_of(l, source);
}

static jf_status look(leaks *l) {
    JF_TRY(look_for_equations(l));
    look_for_functions(l);
    int more = l->named - MOST_TOLD;
    if (more > 0)
        jf_warn(l->d->ctx, "%d more column%s of x follow%s from others in the same way", more,
                more > 1 ? "s" : "", more > 1 ? "" : "s");
    return JF_OK;
}

jf_status table_examine_leaks(const dataset *d) {
    leaks l = {.d = d, .dim = dataset_dim(d), .dim_y = d->dim_y};
    size_t dim = (size_t)l.dim;
    double most = MOST_PRODUCTS / ((double)dim * (double)dim);
    long rows = most < MOST_ROWS ? (long)most : MOST_ROWS;
    jf_status status;
    if (rows < ROWS_A_COLUMN * (long)dim || d->rows < LEAST_ROWS)
        return JF_OK; /* too wide to be looked at quickly */
    l.step = (d->rows + rows - 1) / rows;
    l.rows = (d->rows + l.step - 1) / l.step;
    JF_TRY_DONE(MEM_NEW(d->ctx, &l.z, (size_t)l.rows * dim));
    JF_TRY_DONE(MEM_NEW(d->ctx, &l.mean, 3 * dim));
    JF_TRY_DONE(MEM_NEW(d->ctx, &l.correlation, dim * dim));
    JF_TRY_DONE(MEM_NEW(d->ctx, &l.factor, dim * dim));
    JF_TRY_DONE(MEM_NEW(d->ctx, &l.kept, dim));
    JF_TRY_DONE(MEM_NEW(d->ctx, &l.sorted, (size_t)l.rows));
    JF_TRY_DONE(MEM_NEW(d->ctx, &l.follows, dim));
    most = MOST_PREDICTED / ((double)dim * (double)dim);
    l.room = l.rows < MOST_COMPARED ? l.rows : MOST_COMPARED;
    if (most < (double)l.room) l.room = (long)most;
    JF_TRY_DONE(MEM_NEW(d->ctx, &l.columns, (dim + 1) * (size_t)l.room));
    JF_TRY_DONE(MEM_NEW(d->ctx, &l.source, (size_t)l.room));
    JF_TRY_DONE(MEM_NEW(d->ctx, &l.targets, dim));
    l.deviation = l.mean + dim;
    l.part = l.deviation + dim;
    status = look(&l);
done:
    free(l.z);
    free(l.mean);
    free(l.correlation);
    free(l.factor);
    free(l.kept);
    free(l.sorted);
    free(l.follows);
    free(l.columns);
    free(l.source);
    free(l.targets);
    return status;
}
