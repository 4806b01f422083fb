/* Collects the answers of all questions into one judgement. */
#include "judge/judge.h"
#include "judge/by_rule.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Means of the three loss terms over the judged points, with the model's own lambda and distance. */
static void count_terms(judgement *j, const model *m, long n, const double *logdet) {
    const flow *f = m->flow;
    const objective *o = &m->objective;
    loss_terms t = {0};
    for (long s = 0; s < n; s++) {
        const double *v = j->encoded + (size_t)s * f->dim, *u = j->data + (size_t)s * f->dim;
        for (int i = 0; i < f->dim_x; i++) t.z += 0.5 * v[i] * v[i] + 0.91893853320467274178;
        for (int i = f->dim_x; i < f->dim; i++) {
            double e = fabs(v[i] - u[i]);
            t.y_error += e / f->dim_y;
            t.y += o->lambda * (o->distance == DISTANCE_L1 ? e : e * e);
        }
        t.logdet -= logdet[s];
    }
    double *fields[] = {&t.z, &t.y, &t.logdet, &t.y_error};
    for (int i = 0; i < 4; i++) *fields[i] /= (double)n;
    t.total = t.z + t.y + t.logdet;
    j->terms = t;
    j->nats_per_dim = (t.z + t.logdet) / f->dim_x;
}

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

static double mean_where(const judgement *j, int dim, int dim_x, const double *values, double y, int all) {
    double sum = 0;
    long n = 0;
    for (long s = 0; s < j->points; s++) {
        if (!all && fabs(j->data[(size_t)s * dim + dim_x] - y) > 1e-6) continue;
        if (isnan(values[s])) continue;
        sum += values[s];
        n++;
    }
    return n ? sum / (double)n : NAN;
}

/* One row a class; for a continuous scalar y, four values of it, with the integral of the density only. */
static jf_status judge_classes(judgement *j, const model *m, const dataset *data, const densities *d) {
    const flow *f = m->flow;
    const model_units *u = &m->units;
    double lo[2], hi[2];
    data_box(j, f->dim, lo, hi);
    int continuous = u->classes == 0 && f->dim_y == 1 && f->dim_x == 2;
    j->classes = u->classes ? u->classes : continuous ? 4 : f->dim_y == 0 && f->dim_x == 2 ? 1 : 0;
    for (int c = 0; c < j->classes; c++) {
        class_judgement *row = &j->by_class[c];
        *row = (class_judgement){.nll = NAN, .nll_sampler = NAN, .entropy = NAN, .integral = NAN};
        double y = 0;
        if (u->classes) {
            row->label = u->label[c];
            memcpy(row->name, u->class_name[c], MODEL_MAX_NAME);
            y = (row->label - u->mean[f->dim_x]) / u->deviation[f->dim_x];
            row->nll = units_log_volume(u) - mean_where(j, f->dim, f->dim_x, d->paper, y, 0);
            row->nll_sampler = units_log_volume(u) - mean_where(j, f->dim, f->dim_x, d->sampler, y, 0);
            row->entropy = isnan(j->entropy) || c >= data->classes ? NAN : dataset_entropy(data, c);
        } else if (continuous) {
            double most[2] = {INFINITY, -INFINITY};
            for (long s = 0; s < j->points; s++) {
                most[0] = fmin(most[0], j->data[(size_t)s * f->dim + f->dim_x]);
                most[1] = fmax(most[1], j->data[(size_t)s * f->dim + f->dim_x]);
            }
            y = most[0] + (most[1] - most[0]) * (c + 0.5) / j->classes;
            row->label = y * u->deviation[f->dim_x] + u->mean[f->dim_x];
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

static jf_status judge_data(judgement *j, const model *m, const dataset *data, uint64_t seed) {
    const flow *f = m->flow;
    size_t dim = (size_t)f->dim, data_dim = (size_t)dataset_dim(data), n = (size_t)j->points;
    double *drawn = NULL, *logdet = NULL;
    densities d = {0};
    jf_status status;
    JF_TRY_DONE(MEM_NEW(m->ctx, &drawn, n * data_dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &logdet, n));
    JF_TRY_DONE(MEM_NEW(m->ctx, &j->data, n * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &j->encoded, n * dim));
    if (data->held)
        dataset_held_out(data, 0, (int)n, drawn);
    else
        dataset_draw(data, (rng_key){seed, RNG_JUDGE, 0}, 0, (int)n, -1, drawn);
    for (size_t s = 0; s < n; s++) memcpy(j->data + s * dim, drawn + s * data_dim, sizeof(double) * dim);
    units_standardise(&m->units, (int)n, j->data);
    double alpha = recipe_real(m->recipe, "train.noise");
    for (size_t s = 0; alpha > 0 && s < n;
         s++) { /* as it is used: x has the noise that was learned, y is clean */
        rng r = rng_stream((rng_key){seed, RNG_NOISE, 0}, s);
        for (int i = 0; i < f->dim_x; i++) j->data[s * dim + (size_t)i] += alpha * rng_normal(&r);
    }
    memcpy(j->encoded, j->data, sizeof(double) * n * dim);
    JF_TRY_DONE(model_forward(m, (long)n, j->encoded, logdet));
    count_terms(j, m, (long)n, logdet);
    JF_TRY_DONE(latent_fit_create(m->ctx, &j->latent, j->encoded, (long)n, f->dim, f->dim_x));
    JF_TRY_DONE(densities_create(m, &d, (long)n, j->data, 1));
    double volume = units_log_volume(&m->units);
    j->nll = volume - mean_where(j, f->dim, f->dim_x, d.paper, 0, 1);
    j->nll_sampler = volume - mean_where(j, f->dim, f->dim_x, d.sampler, 0, 1);
    j->nll_whole = volume - mean_where(j, f->dim, f->dim_x, d.whole, 0, 1);
    for (size_t s = 0; s < n; s++)
        j->nll_error += (volume - d.paper[s] - j->nll) * (volume - d.paper[s] - j->nll);
    j->nll_error = sqrt(j->nll_error) / (double)n;
    j->y_error = d.y_error;
    j->log_dy = d.log_dy;
    j->lost = d.lost;
    j->exact = d.exact;
    /* known of the data as they are, given y */
    j->entropy = alpha > 0 || (data->dim_y && !f->dim_y) ? NAN : dataset_entropy(data, -1);
    JF_TRY_DONE(judge_classes(j, m, data, &d));
    JF_TRY_DONE(roundtrip_errors(m, (long)(n < 10000 ? n : 10000), j->data, seed, &j->roundtrip_data,
                                 &j->roundtrip_latent));
    JF_TRY_DONE(energy_distance(m, (long)n, j->data, seed, &j->energy));
done:
    densities_free(&d);
    free(drawn);
    free(logdet);
    return status;
}

jf_status judge_run(const model *m, judgement **out, long points, uint64_t seed) {
    *out = NULL;
    judgement *j;
    dataset *data = NULL;
    jf_status status;
    JF_TRY(MEM_NEW(m->ctx, &j, 1));
    *j = (judgement){
        .ctx = m->ctx, .points = points > 0 ? points : 50000, .has_data = m->objective.kind->from_data};
    if (j->has_data) {
        JF_TRY_DONE(dataset_open(m->ctx, &data, m->recipe));
        JF_TRY_DONE(check_shape(m, data));
        j->unseen = data->rows == 0 || data->held > 0;
        if (data->held && j->points > data->held) j->points = data->held;
        if (data->rows && !data->held && j->points > data->rows) j->points = data->rows;
        JF_TRY_DONE(judge_data(j, m, data, seed));
    } else {
        JF_TRY_DONE(judge_by_rule(j, m, seed));
    }
    JF_TRY_DONE(judge_write(j, m));
    *out = j;
    j = NULL;
done:
    dataset_free(data);
    judge_free(j);
    return status;
}

void judge_free(judgement *j) {
    if (!j) return;
    latent_fit_free(&j->latent);
    free(j->data);
    free(j->encoded);
    text_free(&j->json);
    text_free(&j->table);
    free(j);
}
