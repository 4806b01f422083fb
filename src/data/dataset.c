/* What all data sets share: opening, standardisation, drawing, entropy.
 *
 * Invariant: a drawn sample is a pure function of (key, its number, class); see dataset.h. */
#include "data/dataset.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/permutation.h"
#include "data/named.h"
#include "io/checksum.h"
#include "types/label_formulas.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Generated sets are measured on so many points: means are off by 1/512 of a deviation. */
#define MEASURE_POINTS (1 << 18)

int dataset_dim(const dataset *d) {
    return d->dim_x + d->dim_y;
}

void dataset_set_plane(dataset *d, const char *y_name) {
    d->dim_x = 2;
    d->dim_y = y_name ? 1 : 0;
    d->plane_names[0] = "x0";
    d->plane_names[1] = "x1";
    d->plane_names[2] = y_name;
    d->names = d->plane_names;
}

const char *dataset_name(const dataset *d, int element) {
    return d->names ? d->names[element] : NULL;
}

/* ---- opening ---- */

jf_status dataset_declare(recipe *r, const char *only_if) {
    JF_TRY(recipe_declare(r, dataset_common_keys, only_if));
    for (int i = 0; dataset_kinds[i]; i++) {
        const dataset_kind *kind = dataset_kinds[i];
        JF_TRY(recipe_declare_choice(r, "data.set", kind->name, kind->keys));
        if (kind->declare) JF_TRY(kind->declare(r));
    }
    return JF_OK;
}

static const dataset_kind *find_kind(const recipe *r) {
    for (int i = 0; dataset_kinds[i]; i++) {
        if (recipe_is(r, "data.set", dataset_kinds[i]->name)) return dataset_kinds[i];
    }
    return NULL;
}

/* Sorts the rows of a file set by class, in file order within a class (a counting sort). */
static jf_status list_class_rows(dataset *d) {
    JF_TRY(MEM_NEW(d->ctx, &d->class_rows, (size_t)d->rows));
    for (long row = 0; row < d->rows; row++) {
        d->class_start[d->kind->row_class(d, row) + 1]++;
    }
    for (int k = 0; k < d->classes; k++) d->class_start[k + 1] += d->class_start[k];
    long next[MAX_CLASSES];
    memcpy(next, d->class_start, sizeof next);
    for (long row = 0; row < d->rows; row++) {
        int k = d->kind->row_class(d, row); /* another one if the file has changed since */
        if (next[k] < d->class_start[k + 1]) d->class_rows[next[k]++] = row;
    }
    return JF_OK;
}

/* ---- standardisation ---- */

jf_status dataset_set_units(dataset *d) {
    JF_TRY(MEM_NEW(d->ctx, &d->mean, (size_t)dataset_dim(d)));
    JF_TRY(MEM_NEW(d->ctx, &d->deviation, (size_t)dataset_dim(d)));
    for (int i = 0; i < dataset_dim(d); i++) d->deviation[i] = 1;
    return JF_OK;
}

/* element 0 of x ("height") */
static const char *column_words(const dataset *d, int column, char *out, size_t size) {
    int is_x = column < d->dim_x, place = is_x ? column : column - d->dim_x;
    const char *name = dataset_name(d, column);
    format_text(out, size, "element %d of %s%s%s%s", place, is_x ? "x" : "y", name ? " (\"" : "",
                name ? name : "", name ? "\")" : "");
    return out;
}

int dataset_is_constant(const dataset *d, int element) {
    return d->support && d->support[element].kind == SUPPORT_CONSTANT;
}

jf_status dataset_make_constant(dataset *d, int element, double value) {
    if (!d->support) JF_TRY(MEM_NEW(d->ctx, &d->support, (size_t)dataset_dim(d)));
    d->support[element] = (column_support){.kind = SUPPORT_CONSTANT, .lo = value, .hi = value};
    if (!d->mean) return JF_OK;
    d->mean[element] = 0;
    d->deviation[element] = 1;
    return JF_OK;
}

/* A row by the maps of its supports. */
static void to_line(const dataset *d, double *xy) {
    for (int i = 0; d->support && i < dataset_dim(d); i++) xy[i] = support_to_line(&d->support[i], xy[i]);
}

static void fetch_row(const dataset *d, long row, rng_key key, uint64_t sample, double *scratch, double *xy) {
    rng stream = rng_stream(key, sample);
    d->kind->fetch(d, row, &stream, scratch, xy, xy + d->dim_x);
    for (int i = 0; d->classes > 0 && i < d->dim_y; i++)
        xy[d->dim_x + i] = label_element(d->class_code[d->kind->row_class(d, row)], d->planes, i);
    for (int i = 0; d->support && i < dataset_dim(d); i++) {
        const column_support *s = &d->support[i];
        int is_spread = i < d->dim_x || d->spreads_y;
        if (s->kind == SUPPORT_WHOLE && i < d->dim_x) xy[i] += rng_uniform(&stream) - 0.5; /* dequantised */
        if (s->kind == SUPPORT_CONSTANT)
            xy[i] = is_spread ? support_around_constant(s, rng_uniform(&stream)) : s->lo;
    }
}

static void draw_generated(const dataset *d, rng_key key, uint64_t first, int n, int class_index,
                           double *xy) {
    int dim = dataset_dim(d);
    for (int i = 0; i < n; i++, xy += dim) {
        rng stream = rng_stream(key, first + (uint64_t)i);
        int k = class_index;
        if (k < 0) k = d->classes > 0 ? (int)rng_below(&stream, (uint32_t)d->classes) : 0;
        d->kind->draw(d, &stream, k, xy, xy + d->dim_x);
        for (int j = 0; d->classes > 0 && j < d->dim_y; j++) xy[d->dim_x + j] = d->label[k];
    }
}

/* Points that are measured, one after the other as often as wanted: none of them is kept. */
typedef struct measured {
    const dataset *d;
    long points;
    double *row, *scratch;
} measured;

static void take_measured(const measured *m, long point) {
    const dataset *d = m->d;
    rng_key drawn = {.seed = DATASET_FIXED_SEED, .purpose = RNG_DATA, .epoch = DATASET_MEASURE_EPOCH};
    rng_key fixed = {.seed = DATASET_FIXED_SEED, .purpose = RNG_ROW};
    if (d->rows > 0)
        fetch_row(d, point, fixed, (uint64_t)point, m->scratch, m->row);
    else
        draw_generated(d, drawn, (uint64_t)point, 1, -1, m->row);
    to_line(d, m->row);
}

/* A column that has one value in all rows to train on: of a table it becomes a constant, unless nothing else
 * is left of x. */
static jf_status take_constant(dataset *d, const measured *m, int column, int *taken) {
    int varying = 0, is_label = column >= d->dim_x && d->classes > 0;
    for (int i = 0; i < d->dim_x; i++) varying += i != column && !dataset_is_constant(d, i);
    *taken = d->rows > 0 && d->image.h == 0 && !is_label && (varying > 0 || d->is_test);
    if (*taken && d->is_test) d->deviation[column] = 1; /* the model has units of its own */
    if (!*taken || d->is_test) return JF_OK;
    d->kind->fetch(d, 0, NULL, m->scratch, m->row, m->row + d->dim_x);
    return dataset_make_constant(d, column, m->row[column]);
}

/* A column whose deviation is not finite, or 0. */
static jf_status refuse_column(const measured *m, int column) {
    const dataset *d = m->d;
    char words[128], row[512] = "";
    long most = 0;
    double largest = 0;
    column_words(d, column, words, sizeof words);
    take_measured(m, 0);
    if (d->deviation[column] == 0)
        return jf_fail(
            d->ctx, JF_ERROR_DATA,
            "data set \"%s\", %s is %g in all %ld points to train on: a constant cannot be standardised, "
            "leave it out",
            d->kind->name, words, m->row[column], m->points);
    for (long i = 0; i < m->points; i++) {
        take_measured(m, i);
        if (!(fabs(m->row[column]) > fabs(largest))) continue;
        largest = m->row[column];
        most = i;
    }
    if (d->rows == m->points) dataset_row_words(d, most, row, sizeof row);
    return jf_fail(d->ctx, JF_ERROR_DATA,
                   "data set \"%s\", %s: %s%sfound %g, expected a number whose square is finite; correct it "
                   "or leave the row "
                   "out",
                   d->kind->name, words, row, row[0] ? ": " : "", largest);
}

static jf_status poll_measuring(const measured *m, long at) {
    enum { POINTS_A_POLL = 1024 };
    if (at % POINTS_A_POLL) return JF_OK;
    return context_poll(m->d->ctx, "measuring columns", (uint64_t)at, (uint64_t)m->points);
}

/* Means and deviations of the first `columns` columns, in two walks: a large offset costs no digits, and the
 * running mean of a constant is that constant, so that its deviation is exactly 0. */
static jf_status measure_columns(dataset *d, const measured *m, int columns) {
    for (int i = 0; i < columns; i++) d->mean[i] = d->deviation[i] = 0;
    for (long at = 0; at < m->points; at++) {
        JF_TRY(poll_measuring(m, at));
        take_measured(m, at);
        for (int i = 0; i < columns; i++) d->mean[i] += (m->row[i] - d->mean[i]) / (double)(at + 1);
    }
    for (long at = 0; at < m->points; at++) {
        JF_TRY(poll_measuring(m, at));
        take_measured(m, at);
        for (int i = 0; i < columns; i++)
            d->deviation[i] += (m->row[i] - d->mean[i]) * (m->row[i] - d->mean[i]);
    }
    for (int i = 0; i < columns; i++) {
        int is_constant = 0;
        d->deviation[i] = sqrt(d->deviation[i] / (double)m->points);
        if (d->deviation[i] == 0) JF_TRY(take_constant(d, m, i, &is_constant));
        if (!(d->deviation[i] > 0) || !isfinite(d->deviation[i])) return refuse_column(m, i);
    }
    return JF_OK;
}

/* Labels of equally likely classes need no measuring: two of them become exactly -1 and +1. */
static jf_status measure_labels(dataset *d) {
    double mean = 0, square = 0;
    for (int k = 0; k < d->classes; k++) mean += (d->label[k] - mean) / (double)(k + 1);
    for (int k = 0; k < d->classes; k++) square += (d->label[k] - mean) * (d->label[k] - mean);
    d->mean[d->dim_x] = mean;
    d->deviation[d->dim_x] = sqrt(square / d->classes);
    if (square > 0 && isfinite(square)) return JF_OK;
    return jf_fail(
        d->ctx, JF_ERROR_DATA,
        "data set \"%s\": all %d classes have the label %g, which cannot be standardised; expected "
        "labels that differ",
        d->kind->name, d->classes, d->label[0]);
}

/* A plane is 1 in a share f of the rows: mean f, variance f (1 - f). A class that data to test on lack is
 * left as it is. */
static void measure_planes(dataset *d) {
    for (int k = 0; k < d->planes; k++) {
        double share = (double)(d->class_start[k + 1] - d->class_start[k]) / (double)d->rows;
        d->mean[d->dim_x + k] = share;
        d->deviation[d->dim_x + k] = share > 0 && share < 1 ? sqrt(share * (1 - share)) : 1;
    }
}

static jf_status measure(dataset *d) {
    measured m = {.d = d, .points = d->rows > 0 ? d->rows : MEASURE_POINTS};
    int labels = d->rows == 0 && d->classes > 0, only_x = labels || d->planes;
    jf_status status = MEM_NEW(d->ctx, &m.row, (size_t)dataset_dim(d));
    if (status == JF_OK) status = MEM_NEW(d->ctx, &m.scratch, d->scratch + 1);
    if (status == JF_OK) status = measure_columns(d, &m, only_x ? d->dim_x : dataset_dim(d));
    if (status == JF_OK && labels) status = measure_labels(d);
    if (status == JF_OK && d->planes) measure_planes(d);
    free(m.row);
    free(m.scratch);
    return status;
}

void dataset_standardise(const dataset *d, int n, double *xy) {
    int dim = dataset_dim(d);
    for (int i = 0; i < n; i++, xy += dim) {
        to_line(d, xy);
        for (int j = 0; j < dim; j++) xy[j] = (xy[j] - d->mean[j]) / d->deviation[j];
    }
}

void dataset_unstandardise(const dataset *d, int n, double *xy) {
    int dim = dataset_dim(d);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < dim; j++, xy++) {
            *xy = *xy * d->deviation[j] + d->mean[j];
            if (d->support) *xy = support_from_line(&d->support[j], *xy);
        }
    }
}

double dataset_log_volume(const dataset *d) {
    double sum = 0;
    for (int i = 0; i < d->dim_x; i++) sum += log(d->deviation[i]);
    return sum;
}

/* ---- drawing ---- */

/* The rows that a sequence goes through: those of a class, or all. */
static uint64_t sequence_size(const dataset *d, int class_index, const long **rows) {
    int by_class = d->classes > 0 && class_index >= 0;
    *rows = by_class ? d->class_rows + d->class_start[class_index] : NULL;
    return (uint64_t)(by_class ? d->class_start[class_index + 1] - d->class_start[class_index] : d->rows);
}

static void draw_rows(const dataset *d, rng_key key, uint64_t first, int n, int class_index, double *scratch,
                      double *xy) {
    int dim = dataset_dim(d);
    rng_key row_key = {key.seed, RNG_ROW, key.epoch};
    const long *rows;
    uint64_t size = sequence_size(d, class_index, &rows), cycle = first / size;
    permutation order = permutation_create(key, cycle, size);
    for (int i = 0; i < n; i++, xy += dim) {
        uint64_t sample = first + (uint64_t)i;
        if (sample / size != cycle) {
            cycle = sample / size;
            order = permutation_create(key, cycle, size);
        }
        uint64_t place = permutation_at(&order, sample % size);
        long row = rows ? rows[place] : (long)place;
        fetch_row(d, row, row_key, sample, scratch, xy);
    }
}

long dataset_row_at(const dataset *d, const row_sequence *q, uint64_t sample) {
    const long *rows;
    if (d->rows == 0) return -1;
    if (q->validation) return d->rows + (long)validation_row((uint64_t)d->validation_rows, sample);
    uint64_t size = sequence_size(d, q->class_index, &rows);
    permutation order = permutation_create(q->key, sample / size, size);
    uint64_t place = permutation_at(&order, sample % size);
    return rows ? rows[place] : (long)place;
}

static void take_validation(const dataset *d, uint64_t first, int n, double *scratch, double *xy) {
    int dim = dataset_dim(d);
    for (int i = 0; i < n; i++, xy += dim) {
        uint64_t row = validation_row((uint64_t)d->validation_rows, first + (uint64_t)i);
        fetch_row(d, d->rows + (long)row, (rng_key){.seed = DATASET_FIXED_SEED, .purpose = RNG_ROW}, row,
                  scratch, xy);
    }
}

void dataset_rows(const dataset *d, const row_sequence *q, uint64_t first, int n, double *scratch,
                  double *xy) {
    if (q->validation)
        take_validation(d, first, n, scratch, xy);
    else if (d->rows > 0)
        draw_rows(d, q->key, first, n, q->class_index, scratch, xy);
    else
        draw_generated(d, q->key, first, n, q->class_index, xy);
}

static jf_status rows_with_scratch(const dataset *d, const row_sequence *q, uint64_t first, int n,
                                   double *xy) {
    double *scratch = NULL;
    if (d->scratch > 0) JF_TRY(MEM_NEW(d->ctx, &scratch, d->scratch));
    dataset_rows(d, q, first, n, scratch, xy);
    free(scratch);
    return dataset_check(d);
}

jf_status dataset_check(const dataset *d) {
    return d->kind->check ? d->kind->check(d) : JF_OK;
}

jf_status dataset_validation(const dataset *d, uint64_t first, int n, double *xy) {
    return rows_with_scratch(d, &(row_sequence){.validation = 1}, first, n, xy);
}

jf_status dataset_draw(const dataset *d, rng_key key, uint64_t first, int n, int class_index, double *xy) {
    return rows_with_scratch(d, &(row_sequence){key, class_index, 0}, first, n, xy);
}

/* ---- which data ---- */

void dataset_identity(const dataset *d, char out[DATASET_MAX_IDENTITY]) {
    char digits[CHECKSUM_TEXT];
    out[0] = '\0';
    if (d->rows == 0) return;
    int sizes[] = {d->dim_x, d->dim_y, d->classes};
    uint64_t sum = checksum_add(checksum_start(), sizes, sizeof sizes);
    for (int k = 0; k < d->classes; k++) sum = checksum_add_text(sum, d->class_name[k]);
    checksum_text(digits, d->kind->add_to_checksum(d, sum));
    format_text(out, DATASET_MAX_IDENTITY, "%ld rows and %ld held out, checksum %s", d->rows,
                d->validation_rows, digits);
}

/* ---- for devices ---- */

static void read_row(const void *source, long row, double *scratch, double *values) {
    const dataset *d = source;
    d->kind->fetch(d, row, NULL, scratch, values, values + d->dim_x);
    for (int i = d->dim_x; i < dataset_dim(d); i++)
        if (dataset_is_constant(d, i)) values[i] = d->support[i].lo;
    to_line(d, values);
}

static int class_of_row(const void *source, long row) {
    const dataset *d = source;
    return d->kind->row_class(d, row);
}

/* Whether rows get a part that is random. */
static int is_dequantised(const dataset *d) {
    for (int i = 0; d->support && i < d->dim_x; i++)
        if (d->support[i].kind == SUPPORT_WHOLE || d->support[i].kind == SUPPORT_CONSTANT) return 1;
    for (int i = d->dim_x; d->support && d->spreads_y && i < dataset_dim(d); i++)
        if (d->support[i].kind == SUPPORT_CONSTANT) return 1;
    return 0;
}

int dataset_resident(const dataset *d, resident_data *out) {
    if (d->rows == 0 || is_dequantised(d)) return 0;
    *out = (resident_data){
        .rows = d->rows,
        .validation_rows = d->validation_rows,
        .dim_x = d->dim_x,
        .dim_y = d->dim_y,
        .width = dataset_dim(d),
        .read = read_row,
        .scratch = d->scratch,
        .classes = d->classes,
        .label = d->class_code,
        .planes = d->planes,
        .row_class = class_of_row,
        .class_rows = d->class_rows,
        .class_start = d->class_start,
        .mean = d->mean,
        .deviation = d->deviation,
        .model_y = d->dim_y,
        .source = d,
    };
    return d->kind->resident ? d->kind->resident(d, out) : 1;
}

void dataset_row_words(const dataset *d, long row, char *out, size_t size) {
    if (d->kind->row_words)
        d->kind->row_words(d, row, out, size);
    else
        format_text(out, size, "%s row %ld", row < d->rows ? "training" : "held-out",
                    (row < d->rows ? row : row - d->rows) + 1);
}

jf_status dataset_examine(const dataset *d) {
    return d->kind->examine ? d->kind->examine(d) : JF_OK;
}

double dataset_entropy(const dataset *d, int class_index) {
    if (!d->kind->entropy) return NAN;
    if (d->classes == 0 || class_index >= 0) return d->kind->entropy(d, class_index < 0 ? 0 : class_index);
    double sum = 0;
    for (int k = 0; k < d->classes; k++) sum += d->kind->entropy(d, k);
    return sum / d->classes;
}

/* ---- a data set's life ---- */

static jf_status fill_in(dataset *d, const recipe *r) {
    JF_TRY(d->kind->open(d, r));
    for (int k = 0; k < d->classes; k++) d->class_code[k] = d->planes ? k : d->label[k];
    if (d->rows > 0 && d->classes > 0) JF_TRY(list_class_rows(d));
    if (d->mean) return JF_OK;
    JF_TRY(dataset_set_units(d));
    return measure(d);
}

static jf_status open_as(jf_context *ctx, dataset **out, const recipe *r, int is_test) {
    *out = NULL;
    const dataset_kind *kind = find_kind(r);
    if (!kind) return recipe_fail(r, "data.set", "expected one of %s", dataset_common_keys[0].choices);
    dataset *d;
    JF_TRY(MEM_NEW(ctx, &d, 1));
    d->ctx = ctx;
    d->kind = kind;
    d->is_test = is_test;
    jf_status status = named_opened(r, fill_in(d, r));
    if (status != JF_OK) {
        dataset_free(d);
        return status;
    }
    *out = d;
    return JF_OK;
}

jf_status dataset_open(jf_context *ctx, dataset **out, const recipe *r) {
    return open_as(ctx, out, r, 0);
}

jf_status dataset_name_test(recipe **out, const recipe *r, const test_file *file) {
    const dataset_kind *kind = find_kind(r);
    *out = NULL;
    if (!kind || !kind->name_test)
        return jf_fail(
            recipe_context(r), JF_ERROR_UNSUPPORTED,
            "%s: data to test on, but the data set of this model is \"%s\", whose points are drawn: "
            "expected a model of images or of a table",
            file->rows ? "data in memory" : file->path, recipe_get(r, "data.set"));
    JF_TRY(recipe_clone(out, r));
    recipe_trust(*out);
    jf_status status = kind->name_test(*out, file);
    if (status == JF_OK) status = recipe_check(*out);
    if (status == JF_OK) return JF_OK;
    recipe_free(*out);
    *out = NULL;
    return status;
}

jf_status dataset_open_test(jf_context *ctx, dataset **out, const recipe *r, const test_file *file) {
    recipe *other;
    *out = NULL;
    JF_TRY(dataset_name_test(&other, r, file));
    jf_status status = open_as(ctx, out, other, 1);
    recipe_free(other);
    return status;
}

void dataset_free(dataset *d) {
    if (!d) return;
    if (d->kind->close) d->kind->close(d);
    free(d->class_rows);
    free(d->support);
    free(d->mean);
    free(d->deviation);
    free(d);
}
