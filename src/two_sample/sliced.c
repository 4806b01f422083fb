/* Sliced Wasserstein distance of order 1: the mean over random directions of the area between the two
 * distribution functions along them. */
#include "base/memory.h"
#include "two_sample/two_sample.h"
#include <math.h>
#include <stdlib.h>

#define DIRECTIONS 200

typedef struct place {
    double at;
    size_t row;
} place;

typedef struct call {
    const two_samples *s;
    place *places; /* (threads, 2n) */
    double *areas; /* (DIRECTIONS, COMPARE_DIVISIONS) */
} call;

static int by_place(const void *a, const void *b) {
    const place *p = a, *q = b;
    return p->at < q->at ? -1 : p->at > q->at ? 1 : p->row < q->row ? -1 : p->row > q->row;
}

/* Where the rows lie along a direction, in ascending order. */
static void project(const two_samples *s, int direction, place *out) {
    rng stream = compare_stream(s, COMPARE_DIRECTIONS, (uint64_t)direction);
    double length = 0;
    for (size_t r = 0; r < 2 * s->n; r++) out[r] = (place){0, r};
    for (int k = 0; k < s->dim; k++) {
        double step = rng_normal(&stream);
        length += step * step;
        for (size_t r = 0; r < 2 * s->n; r++) out[r].at += step * s->rows[r * (size_t)s->dim + (size_t)k];
    }
    length = sqrt(length);
    for (size_t r = 0; r < 2 * s->n; r++) out[r].at /= length;
    qsort(out, 2 * s->n, sizeof *out, by_place);
}

/* For every division the integral of |F_A - F_B|. */
static void slice(void *arg, int direction, int worker) {
    const call *c = arg;
    const two_samples *s = c->s;
    place *p = c->places + (size_t)worker * 2 * s->n;
    float ahead[COMPARE_DIVISIONS] = {0}; /* n (F_A - F_B): whole numbers */
    double *area = c->areas + (size_t)direction * COMPARE_DIVISIONS;
    project(s, direction, p);
    for (size_t r = 0; r + 1 < 2 * s->n; r++) {
        const float *second = s->second + p[r].row * COMPARE_DIVISIONS;
        double step = p[r + 1].at - p[r].at;
        for (int d = 0; d < COMPARE_DIVISIONS; d++) {
            ahead[d] += 1 - 2 * second[d];
            area[d] += step * fabsf(ahead[d]);
        }
    }
}

static jf_status measure(const two_samples *s, jf_two_sample *out) {
    call c = {.s = s};
    double mean[COMPARE_DIVISIONS] = {0};
    jf_status status;
    JF_TRY_DONE(MEM_NEW(s->ctx, &c.places, (size_t)pool_threads(s->pool) * 2 * s->n));
    JF_TRY_DONE(MEM_NEW(s->ctx, &c.areas, (size_t)DIRECTIONS * COMPARE_DIVISIONS));
    pool_run(s->pool, DIRECTIONS, slice, &c);
    for (int i = 0; i < DIRECTIONS * COMPARE_DIVISIONS; i++)
        mean[i % COMPARE_DIVISIONS] += c.areas[i] / ((double)s->n * DIRECTIONS);
    *out = two_sample_summary(mean);
done:
    free(c.places);
    free(c.areas);
    return status;
}

const two_sample_measure measure_sliced = {
    .name = "sliced_wasserstein",
    .label = "sliced Wasserstein",
    .about = "order 1, mean of 200 directions, in deviations of A",
    .measure = measure,
};
