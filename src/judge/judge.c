/* Collects the answers of all questions into one judgement. */
#include "judge/judge.h"
#include "data/gaussian.h"
#include "data/tasks/task.h"
#include "judge/by_rule.h"
#include "model/denoise.h"
#include "ranks/ranks.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows that go through the map and back, and that samples are compared with: those of images cost more. */
enum { VECTOR_TRIPS = 10000, IMAGE_TRIPS = 1000, VECTOR_COMPARED = 2000, IMAGE_COMPARED = 500 };
#define MOST_NUMBERS ((long)1 << 27) /* of one array of judged points */

/* Smallest and largest x of the data, moved outwards: where the density is looked for. */
static void data_box(const judgement *j, int dim, double lo[2], double hi[2]) {
    for (int k = 0; k < 2; k++) {
        lo[k] = INFINITY;
        hi[k] = -INFINITY;
        for (long s = 0; s < j->points; s++) {
            lo[k] = fmin(lo[k], j->data[(size_t)s * dim + k]);
            hi[k] = fmax(hi[k], j->data[(size_t)s * dim + k]);
        }
        double margin = 0.25 * (hi[k] - lo[k]);
        lo[k] -= margin;
        hi[k] += margin;
    }
}

/* Over the points of one class, or of all (-1). */
static double mean_of_class(const judgement *j, const double *values, int class_index) {
    double sum = 0;
    long n = 0;
    for (long s = 0; s < j->points; s++) {
        if (class_index >= 0 && j->class_of[s] != class_index) continue;
        if (isnan(values[s])) continue;
        sum += values[s];
        n++;
    }
    return n ? sum / (double)n : NAN;
}

/* Latent histograms of one class: z is to be independent of y, so that each class has to fill the prior by
 * itself. */
static jf_status fit_class(judgement *j, const model *m, int class_index) {
    const flow *f = m->flow;
    size_t dim = (size_t)f->dim, n = 0;
    class_judgement *row = &j->by_class[class_index];
    double *rows;
    latent_fit fit;
    for (long s = 0; s < j->points; s++) n += j->class_of[s] == class_index;
    if (n < 2) return JF_OK;
    JF_TRY(MEM_NEW(m->ctx, &rows, n * dim));
    n = 0;
    for (long s = 0; s < j->points; s++)
        if (j->class_of[s] == class_index)
            memcpy(rows + n++ * dim, j->encoded + (size_t)s * dim, dim * sizeof *rows);
    jf_status status = latent_fit_create(m->ctx, &fit, rows, (long)n, f->dim, f->dim_x);
    free(rows);
    if (status != JF_OK) return status;
    row->ks_median = fit.median;
    row->ks_max = fit.max;
    row->ks_chance = fit.chance_max;
    latent_fit_free(&fit);
    return JF_OK;
}

/* One row per class; for a continuous scalar y, four values of it, with the integral of the density only. */
static jf_status judge_classes(judgement *j, const model *m, const dataset *data, const densities *d) {
    const flow *f = m->flow;
    const model_units *u = &m->units;
    double lo[2], hi[2];
    if (f->dim_x == 2) data_box(j, f->dim, lo, hi);
    int continuous = u->classes == 0 && f->dim_y == 1 && f->dim_x == 2;
    j->classes = u->classes ? u->classes : continuous ? 4 : f->dim_y == 0 && f->dim_x == 2 ? 1 : 0;
    for (int c = 0; c < j->classes; c++) {
        class_judgement *row = &j->by_class[c];
        metrics_forget(&class_metrics, row);
        double y = 0;
        if (u->classes) {
            row->label = u->label[c];
            memcpy(row->name, u->class_name[c], MAX_CLASS_NAME);
            y = units_to_model(u, f->dim_x, row->label);
            row->nll = -mean_of_class(j, d->paper, c);
            JF_TRY(fit_class(j, m, c));
            row->entropy = isnan(j->entropy) || c >= data->classes ? NAN : dataset_entropy(data, c);
            row->gap = row->nll - row->entropy;
            row->gap_sampler = -mean_of_class(j, d->sampler, c) - row->entropy;
        } else if (continuous) {
            double most[2] = {INFINITY, -INFINITY};
            for (long s = 0; s < j->points; s++) {
                most[0] = fmin(most[0], j->data[(size_t)s * f->dim + f->dim_x]);
                most[1] = fmax(most[1], j->data[(size_t)s * f->dim + f->dim_x]);
            }
            y = most[0] + (most[1] - most[0]) * (c + 0.5) / j->classes;
            row->label = units_to_data(u, f->dim_x, y);
        }
        if (f->dim_x == 2 && f->dim_y <= 1) JF_TRY(density_integral(m, y, lo, hi, &row->integral));
    }
    return JF_OK;
}

/* A recipe that was changed by hand in the model's file, say, could name data of another shape. */
static jf_status check_shape(const model *m, const dataset *data) {
    const model_units *u = &m->units;
    if (data->dim_x == u->dim_x && (u->dim_y == 0 || data->dim_y == u->dim_y)) return JF_OK;
    return jf_fail(m->ctx, JF_ERROR_SHAPE,
                   "data set \"%s\": found %d elements of x and %d of y, expected %d and %d for this model",
                   data->kind->name, data->dim_x, data->dim_y, u->dim_x, u->dim_y);
}

row_sequence judged_rows(const dataset *data, uint64_t seed) {
    return (row_sequence){{data->rows ? 0 : seed, RNG_JUDGE, RNG_USE_JUDGED}, -1, data->validation_rows > 0};
}

/* The points to judge on: clean ones, what the model sees of them, and their classes. */
static jf_status draw_points(judgement *j, const model *m, const dataset *data, uint64_t seed) {
    const model_units *u = &m->units;
    size_t dim = (size_t)m->flow->dim, data_dim = (size_t)dataset_dim(data), n = (size_t)j->points;
    double *row, alpha = recipe_real(m->recipe, "train.noise");
    JF_TRY(MEM_NEW(m->ctx, &j->clean, n * dim));
    JF_TRY(MEM_NEW(m->ctx, &j->data, n * dim));
    if (u->classes) JF_TRY(MEM_NEW(m->ctx, &j->class_of, n));
    row_sequence sequence = judged_rows(data, seed);
    JF_TRY(MEM_NEW(m->ctx, &row, data_dim + data->scratch));
    for (size_t s = 0; s < n; s++) {
        dataset_rows(data, &sequence, s, 1, row + data_dim, row);
        memcpy(j->clean + s * dim, row, sizeof(double) * dim);
        if (u->classes) j->class_of[s] = units_class_of(u, row + data->dim_x);
        if (!u->classes || j->class_of[s] >= 0) continue;
        jf_status status =
            jf_fail(m->ctx, JF_ERROR_DATA,
                    "point %zu of the data to judge on: y is %g, expected a label of the model", s + 1,
                    row[data->dim_x]);
        free(row);
        return status;
    }
    free(row);
    memcpy(j->data, j->clean, sizeof(double) * n * dim);
    units_standardise(u, (int)n, j->data);
    for (size_t s = 0; alpha > 0 && s < n; s++) { /* as in training */
        rng r = rng_stream((rng_key){seed, RNG_NOISE, RNG_USE_JUDGED}, s);
        for (size_t i = 0; i < dim; i++) j->data[s * dim + i] += alpha * rng_normal(&r);
    }
    return JF_OK;
}

/* Bits per dimension of the images as bytes b: -log2 P(b) is at most the mean of -log2 p(v) over what
 * dequantisation makes of them, levels v = b + u. With x = x(v),  log p(v) = log p(x) + sum over elements of
 * log|dx/dv|. */
static double bits_per_dim(const judgement *j, const model *m, const dataset *data) {
    const task *t = data->task;
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x;
    double slopes = 0;
    if (!t || !t->levels || recipe_real(m->recipe, "train.noise") > 0) return NAN;
    for (size_t s = 0; s < (size_t)j->points; s++)
        for (size_t i = 0; i < dim_x; i++)
            slopes += t->kind->log_slope(t, j->clean[s * dim + i]) / (double)j->points;
    return (j->nll - slopes) / ((double)dim_x * log(2));
}

/* Whether the model beats what needs no model. */
static jf_status compare_with_gaussian(judgement *j, const model *m, const dataset *data) {
    if (data->is_test) return JF_OK; /* means and deviations are those of the data trained on */
    JF_TRY(dataset_gaussian(data, recipe_real(m->recipe, "train.noise"), &j->gaussian));
    j->gaussian += loss_y_at_best(&m->objective, m->units.dim_y);
    j->worse = j->terms.value[TERM_TOTAL] > j->gaussian + GAUSSIAN_MARGIN * m->units.dim_x;
    return JF_OK;
}

/* Samples as they are beside noised data, and without noise beside clean ones. */
static jf_status compare_samples(judgement *j, const model *m, long n, const jf_judge_options *q) {
    double *clean;
    JF_TRY(sample_distance(m, n, j->data, q->seed, 0, &j->energy));
    if (!q->denoise) return JF_OK;
    size_t count = (size_t)n * (size_t)m->flow->dim;
    JF_TRY(MEM_NEW(m->ctx, &clean, count));
    memcpy(clean, j->clean, sizeof(double) * count);
    units_standardise(&m->units, (int)n, clean);
    jf_status status = sample_distance(m, n, clean, q->seed, 1, &j->energy_denoised);
    free(clean);
    return status;
}

static jf_status judge_calibration(judgement *j, const model *m, const jf_judge_options *q) {
    JF_TRY(calibration_create(m, &j->calibration, j->points, j->data, q->seed, judge_temperature(q)));
    return j->calibration.rows ? calibration_tell(m, &j->calibration, &j->calibration_words) : JF_OK;
}

static jf_status judge_predictive(judgement *j, const model *m, const jf_judge_options *q) {
    JF_TRY(predictive_create(m, &j->predictive, j->points, j->clean, q->seed, judge_temperature(q),
                             q->simulate, q->simulate_user));
    return predictive_tell(m, &j->predictive, &j->predictive_words);
}

static jf_status judge_data(judgement *j, const model *m, const dataset *data, const jf_judge_options *q,
                            int latent_only) {
    uint64_t seed = q->seed;
    const flow *f = m->flow;
    size_t dim = (size_t)f->dim, n = (size_t)j->points;
    int is_image = m->units.image.h > 0;
    double *logdet = NULL;
    densities d = {0};
    jf_status status;
    JF_TRY_DONE(draw_points(j, m, data, seed));
    if (q->simulate) JF_TRY_DONE(judge_predictive(j, m, q)); /* first, since it may fail */
    JF_TRY_DONE(MEM_NEW(m->ctx, &logdet, n));
    JF_TRY_DONE(MEM_NEW(m->ctx, &j->encoded, n * dim));
    memcpy(j->encoded, j->data, sizeof(double) * n * dim);
    JF_TRY_DONE(model_evaluate(m, (long)n, j->encoded, logdet, &j->terms));
    JF_TRY_DONE(compare_with_gaussian(j, m, data));
    j->nats_per_dim = (j->terms.value[TERM_Z] + j->terms.value[TERM_LOGDET]) / f->dim_x;
    JF_TRY_DONE(latent_fit_create(m->ctx, &j->latent, j->encoded, (long)n, f->dim, f->dim_x));
    if (latent_only) goto done;
    if (densities_are_exact(m))
        JF_TRY_DONE(densities_create(m, &d, (long)n, j->data, 1));
    else
        JF_TRY_DONE(densities_of_encoded(m, &d, (long)n, j->data, j->encoded, logdet));
    JF_TRY_DONE(densities_check(m, &d, (long)n));
    JF_TRY_DONE(densities_on_supports(m, &d, (long)n, j->data));
    if (!is_image) JF_TRY_DONE(judge_linear(j, m, data, d.paper, seed));
    densities_to_data_units(m, &d, (long)n, j->data);
    j->nll = -mean_of_class(j, d.paper, -1);
    j->nll_sampler = -mean_of_class(j, d.sampler, -1);
    j->nll_whole = -mean_of_class(j, d.whole, -1);
    j->nll_linear = j->nll + j->linear_gain;
    j->nll_error = 0;
    for (size_t s = 0; s < n; s++) j->nll_error += (d.paper[s] + j->nll) * (d.paper[s] + j->nll);
    j->nll_error = sqrt(j->nll_error) / (double)n;
    if (!is_image) JF_TRY_DONE(judge_overfit(j, m, data, seed));
    j->bits_per_dim = bits_per_dim(j, m, data);
    j->y_error = d.y_error;
    j->log_dy = d.log_dy;
    j->lost = d.lost;
    j->exact = d.exact;
    /* known of the data as they are, given y */
    int noised = recipe_real(m->recipe, "train.noise") > 0;
    j->entropy = noised || (data->dim_y && !f->dim_y) ? NAN : dataset_entropy(data, -1);
    j->gap = j->nll - j->entropy;
    j->gap_sampler = j->nll_sampler - j->entropy;
    JF_TRY_DONE(judge_classes(j, m, data, &d));
    JF_TRY_DONE(judge_argmax(j, m, data));
    size_t trips = is_image ? IMAGE_TRIPS : VECTOR_TRIPS;
    JF_TRY_DONE(roundtrip_errors(m, (long)(n < trips ? n : trips), j->data, seed, &j->roundtrip_data,
                                 &j->roundtrip_latent));
    size_t compared = is_image ? IMAGE_COMPARED : VECTOR_COMPARED;
    JF_TRY_DONE(compare_samples(j, m, (long)(n < compared ? n : compared), q));
    if (!is_image) JF_TRY_DONE(judge_calibration(j, m, q));
    if (is_image && !j->exact) JF_TRY_DONE(image_log_dy(m, j->points, j->data, &j->image_log_dy));
    if (j->image_log_dy.samples) j->log_dy = j->image_log_dy.mean;
    if (is_image && data->task) JF_TRY_DONE(judge_image(j, m, data, q));
done:
    densities_free(&d);
    free(logdet);
    return status;
}

jf_status judge_run(const model *m, judgement **out, long points, uint64_t seed) {
    return judge_create(m, out, &(jf_judge_options){.points = (size_t)points, .seed = seed});
}

/* Bounds may call columns by names that the model knows and arrays do not have. */
static int has_model_names_to_take(const model *m, const memory_rows *rows) {
    const model_units *u = &m->units;
    int of_y = u->image.h == 0 && units_planes(u) ? 1 : u->dim_y; /* one column has all classes */
    return rows && u->names && !memory_rows_name(rows, 0) &&
           memory_rows_columns(rows) == (size_t)(u->dim_x + of_y);
}

/* Test rows have the model's constants, too, and other values in their place are counted. */
static jf_status take_constants(const model *m, dataset *data) {
    const model_units *u = &m->units;
    double *row;
    long others = 0;
    int dim = u->dim_x + u->dim_y;
    if (!u->support || data->dim_x != u->dim_x || data->dim_y < u->dim_y) return JF_OK;
    JF_TRY(MEM_NEW(m->ctx, &row, (size_t)dataset_dim(data) + data->scratch));
    for (long s = 0; s < data->rows; s++) {
        int other = 0;
        data->kind->fetch(data, s, NULL, row + dataset_dim(data), row, row + data->dim_x);
        for (int i = 0; i < dim; i++)
            other |= u->support[i].kind == SUPPORT_CONSTANT && !support_contains(&u->support[i], row[i]);
        others += other;
    }
    free(row);
    if (others)
        jf_warn(m->ctx,
                "%ld of %ld rows to judge on have another value in a column that was constant in training: "
                "it is ignored",
                others, data->rows);
    for (int i = 0; i < dim; i++)
        if (u->support[i].kind == SUPPORT_CONSTANT) JF_TRY(dataset_make_constant(data, i, u->support[i].lo));
    return JF_OK;
}

jf_status judge_open_data(const model *m, const recipe *r, dataset **out, const jf_judge_options *q) {
    const model_units *u = &m->units;
    const char *names[MAX_CLASSES];
    memory_rows *renamed = NULL;
    test_file file = {.path = q->test,
                      .labels = q->test_labels,
                      .rows = q->test_data,
                      .class_names = names,
                      .classes = u->classes};
    if (!q->test && !q->test_data) return dataset_open(m->ctx, out, r);
    for (int c = 0; c < u->classes; c++) names[c] = u->class_name[c];
    if (has_model_names_to_take(m, q->test_data)) {
        JF_TRY(memory_rows_renamed(m->ctx, &renamed, q->test_data, (const char *const *)u->names));
        file.rows = renamed;
    }
    jf_status status = dataset_open_test(m->ctx, out, r, &file);
    memory_rows_free(renamed);
    return status == JF_OK ? take_constants(m, *out) : status;
}

/* Ranks that judge together do so on the same data. */
static jf_status open_same_data(const model *m, dataset **out, const jf_judge_options *q) {
    ranks *r = ranks_of(m->ctx);
    char identity[DATASET_MAX_IDENTITY] = "";
    JF_TRY(ranks_agree(r, judge_open_data(m, m->recipe, out, q)));
    if (ranks_size(r) == 1) return JF_OK;
    dataset_identity(*out, identity);
    return ranks_same(r, "data to judge on (checksum)", identity);
}

jf_status judge_write(judgement *j, const model *m) {
    judge_write_json(j, m, &j->json);
    judge_write_table(j, m, &j->table);
    JF_TRY(text_check(j->ctx, &j->json));
    return text_check(j->ctx, &j->table);
}

static jf_status judge(const model *m, judgement **out, const jf_judge_options *q, int latent_only) {
    *out = NULL;
    judgement *j;
    dataset *data = NULL;
    jf_status status;
    double noise;
    if (q->denoise) JF_TRY(model_noise(m, &noise)); /* before much is computed */
    JF_TRY(MEM_NEW(m->ctx, &j, 1));
    *j = (judgement){.ctx = context_hold(m->ctx), .has_data = m->objective.kind->from_data};
    for (int i = 0; i < METRIC_LISTS; i++)
        metrics_forget(&metric_lists[i], (char *)j + metric_lists[i].place);
    j->image.quality = j->image.held_out = quality_unknown();
    j->denoised = j->image;
    size_t most = (size_t)(MOST_NUMBERS / m->flow->dim);
    size_t points = q->points > 0 ? q->points : j->has_data ? JUDGE_POINTS : JUDGE_RULE_POINTS;
    j->points = (long)(points < most ? points : most);
    if (j->has_data) {
        JF_TRY_DONE(open_same_data(m, &data, q));
        JF_TRY_DONE(check_shape(m, data));
        j->outside = data->outside;
        j->unseen = data->rows == 0 || data->validation_rows > 0 || data->is_test;
        j->available = data->validation_rows ? data->validation_rows : data->rows ? data->rows : LONG_MAX;
        if (j->points > j->available) j->points = j->available;
        JF_TRY_DONE(judge_data(j, m, data, q, latent_only));
    } else {
        JF_TRY_DONE(judge_by_rule(j, m, q->seed));
    }
    char doubt[512];
    judge_doubt(j, m, doubt, sizeof doubt);
    if (doubt[0]) jf_warn(m->ctx, "%s", doubt);
    if (!latent_only) JF_TRY_DONE(judge_advise(j, m));
    if (!latent_only) JF_TRY_DONE(judge_write(j, m));
    *out = j;
    j = NULL;
done:
    dataset_free(data);
    judge_free(j);
    return status;
}

jf_status judge_create(const model *m, judgement **out, const jf_judge_options *q) {
    return judge(m, out, q, 0);
}

jf_status judge_latent(const model *m, judgement **out, long points, uint64_t seed) {
    return judge(m, out, &(jf_judge_options){.points = (size_t)points, .seed = seed}, 1);
}

void judge_free(judgement *j) {
    if (!j) return;
    latent_fit_free(&j->latent);
    image_array_free(&j->sheet);
    free(j->clean);
    free(j->data);
    free(j->encoded);
    free(j->class_of);
    calibration_free(&j->calibration);
    free(j->calibration_words);
    predictive_free(&j->predictive);
    free(j->predictive_words);
    for (int i = 0; i < JUDGE_ADVICE; i++) free(j->advice[i]);
    text_free(&j->json);
    text_free(&j->table);
    jf_context_free(j->ctx);
    free(j);
}
