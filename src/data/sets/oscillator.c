/* A damped oscillation seen through noise, a condition that is a series:
 *     x = (f, a, b),   f ~ U(1, 8), a and b ~ N(0, 1)
 *     y_i = exp(-t_i) (a cos 2 pi f t_i + b sin 2 pi f t_i) + N(0, 0.5^2),   t_i = i/128, i = 0 .. 127
 *
 * Given f the problem is linear and Gaussian. With the columns B_f (128, 2) and M = I + B_f^t B_f/s^2,
 * m = M^-1 B_f^t y/s^2,
 *     p(y | f) ~ |M|^(-1/2) exp(m^t M m/2),   (a, b) | f, y ~ N(m, M^-1)
 * so the posterior is known by the density of f on a grid, which is fine beside its narrowest peaks. */
#include "base/memory.h"
#include "data/problem.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 128, CELLS = 1400, DIM_X = 3, MAX_NAME = 16 };
#define LOWEST  1.0
#define HIGHEST 8.0
#define NOISE   0.5

static const double cell_width = (HIGHEST - LOWEST) / CELLS;

typedef struct oscillator {
    double columns[CELLS][2][STEPS]; /* B_f/s in the middle of each cell */
    char series_names[STEPS][MAX_NAME];
    const char *names[DIM_X + STEPS];
} oscillator;

static void fill_columns(double f, double columns[2][STEPS]) {
    for (int i = 0; i < STEPS; i++) {
        double t = (double)i / STEPS, envelope = exp(-t) / NOISE;
        columns[0][i] = envelope * cos(2 * M_PI * f * t);
        columns[1][i] = envelope * sin(2 * M_PI * f * t);
    }
}

/* They are known: a and b have a variance of 1, so that of y_i is exp(-2 t_i) + s^2 whatever f is. */
static jf_status set_units(dataset *d) {
    JF_TRY(dataset_set_units(d));
    d->mean[0] = (LOWEST + HIGHEST) / 2;
    d->deviation[0] = (HIGHEST - LOWEST) / sqrt(12);
    for (int i = 0; i < STEPS; i++)
        d->deviation[DIM_X + i] = sqrt(exp(-2 * (double)i / STEPS) + NOISE * NOISE);
    return JF_OK;
}

static jf_status oscillator_open(dataset *d, const recipe *r) {
    (void)r;
    oscillator *own;
    JF_TRY(MEM_NEW(d->ctx, &own, 1));
    d->own = own;
    for (int k = 0; k < CELLS; k++) fill_columns(LOWEST + (k + 0.5) * cell_width, own->columns[k]);
    own->names[0] = "frequency";
    own->names[1] = "cosine";
    own->names[2] = "sine";
    for (int i = 0; i < STEPS; i++) {
        snprintf(own->series_names[i], MAX_NAME, "obs%d", i + 1);
        own->names[DIM_X + i] = own->series_names[i];
    }
    problem_sizes(d, DIM_X, STEPS, own->names);
    JF_TRY(MEM_NEW(d->ctx, &d->support, (size_t)dataset_dim(d)));
    d->support[0] = (column_support){.kind = SUPPORT_CUT, .lo = LOWEST, .hi = HIGHEST};
    return set_units(d);
}

static void oscillator_close(dataset *d) {
    free(d->own);
}

/* From step to step the oscillation turns and shrinks. */
static void simulate(rng *stream, const double x[DIM_X], double *y) {
    double angle = 2 * M_PI * x[0] / STEPS, shrink = exp(-1.0 / STEPS), c = shrink * cos(angle),
           s = shrink * sin(angle), now = x[1], beside = x[2];
    for (int i = 0; i < STEPS; i++) {
        y[i] = now + NOISE * rng_normal(stream);
        double next = c * now + s * beside;
        beside = c * beside - s * now;
        now = next;
    }
}

static void oscillator_draw(const dataset *d, rng *stream, int class_index, double *x, double *y) {
    (void)d, (void)class_index;
    x[0] = rng_range(stream, LOWEST, HIGHEST);
    x[1] = rng_normal(stream);
    x[2] = rng_normal(stream);
    simulate(stream, x, y);
}

/* ---- the posterior ---- */

/* Of (a, b) at one frequency: mean, precision M = (aa, ab; ab, bb), and what log p(y | f) is up to a
 * constant. */
typedef struct amplitudes {
    double mean[2], aa, ab, bb, determinant, log_p;
} amplitudes;

static amplitudes solve(double columns[2][STEPS], const double *y) {
    amplitudes s = {.aa = 1, .bb = 1};
    double ra = 0, rb = 0;
    for (int i = 0; i < STEPS; i++) {
        double a = columns[0][i], b = columns[1][i], v = y ? y[i] / NOISE : 0;
        s.aa += a * a;
        s.ab += a * b;
        s.bb += b * b;
        ra += a * v;
        rb += b * v;
    }
    s.determinant = s.aa * s.bb - s.ab * s.ab;
    s.mean[0] = (s.bb * ra - s.ab * rb) / s.determinant;
    s.mean[1] = (s.aa * rb - s.ab * ra) / s.determinant;
    s.log_p = 0.5 * (ra * s.mean[0] + rb * s.mean[1] - log(s.determinant));
    return s;
}

/* Probabilities of the cells, given y. */
static void weigh_cells(const dataset *d, const double *y, double p[CELLS]) {
    oscillator *own = d->own;
    double most = -INFINITY, sum = 0;
    for (int k = 0; k < CELLS; k++) {
        p[k] = solve(own->columns[k], y).log_p;
        most = fmax(most, p[k]);
    }
    for (int k = 0; k < CELLS; k++) sum += p[k] = exp(p[k] - most);
    for (int k = 0; k < CELLS; k++) p[k] /= sum;
}

static int oscillator_posterior(const dataset *d, rng *stream, const double *y, double *x) {
    double p[CELLS], columns[2][STEPS], left = rng_uniform(stream);
    int cell = 0;
    weigh_cells(d, y, p);
    for (; cell < CELLS - 1 && left >= p[cell]; cell++) left -= p[cell];
    x[0] = LOWEST + (cell + rng_uniform(stream)) * cell_width;
    fill_columns(x[0], columns);
    amplitudes s = solve(columns, y);
    /* M^-1 = L L^t with L = (1/sqrt c, 0; -ab/bb/sqrt c, 1/sqrt bb), c = det/bb */
    double u = rng_normal(stream) / sqrt(s.determinant / s.bb), v = rng_normal(stream) / sqrt(s.bb);
    x[1] = s.mean[0] + u;
    x[2] = s.mean[1] - s.ab / s.bb * u + v;
    return 1;
}

/* ---- entropy: H(f | y) + H(a, b | f, y) ---- */

static double share(double value) {
    return value - floor(value);
}

/* H(f | y) is a mean over y. The size of the oscillation, on which it depends most, is taken at equal steps
 * of its distribution, frequency and phase at multiples of irrational numbers; the noise alone is drawn. */
static double oscillator_entropy(const dataset *d, int class_index) {
    enum { DRAWS = 2000 };
    (void)class_index;
    oscillator *own = d->own;
    double of_f = 0, of_amplitudes = 0;
    for (int n = 0; n < DRAWS; n++) {
        double p[CELLS], y[STEPS], size = sqrt(-2 * log((n + 0.5) / DRAWS)),
                                   phase = 2 * M_PI * share((n + 0.5) * (M_SQRT2 - 1)),
                                   f = LOWEST + (HIGHEST - LOWEST) * share((n + 0.5) * (sqrt(3) - 1));
        rng stream = rng_stream((rng_key){DATASET_FIXED_SEED, RNG_DATA, 0}, (uint64_t)n);
        simulate(&stream, (double[]){f, size * cos(phase), size * sin(phase)}, y);
        weigh_cells(d, y, p);
        for (int k = 0; k < CELLS; k++)
            if (p[k] > 0) of_f -= p[k] * log(p[k] / cell_width) / DRAWS;
    }
    for (int k = 0; k < CELLS; k++)
        of_amplitudes += (log(2 * M_PI * M_E) - 0.5 * log(solve(own->columns[k], NULL).determinant)) / CELLS;
    return of_f + of_amplitudes;
}

const dataset_kind dataset_oscillator = {
    .name = "oscillator",
    .summary = "frequency and amplitudes of a damped oscillation, from a noisy series of 128 numbers",
    .open = oscillator_open,
    .close = oscillator_close,
    .draw = oscillator_draw,
    .posterior = oscillator_posterior,
    .entropy = oscillator_entropy,
};
