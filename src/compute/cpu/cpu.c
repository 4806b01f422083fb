/* The cpu device's table: memory, index maps and loss terms; adam.c, dense.c, law.c and plans.c hold the
 * rest. */
#include "compute/cpu/cpu.h"
#include "base/memory.h"
#include "compute/dropout_formulas.h"
#include "compute/rule/rule_formulas.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static float *N(real *p) {
    return (float *)p;
}
static const float *C(const real *p) {
    return (const float *)p;
}

extern const cpu_kernels cpu_kernels_baseline;
#ifdef JF_HAVE_X86_ISAS
extern const cpu_kernels cpu_kernels_avx2, cpu_kernels_avx512;
#endif

typedef struct isa_entry {
    const cpu_kernels *kernels;
    int available;
} isa_entry;

jf_status cpu_kernels_choose(jf_context *ctx, const cpu_kernels **out) {
    isa_entry list[] = {
#ifdef JF_HAVE_X86_ISAS
        {&cpu_kernels_avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")},
        {&cpu_kernels_avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
#endif
        {&cpu_kernels_baseline, 1},
    };
    const char *forced = getenv("JOINTFLOW_ISA");
    text known = {0};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (!list[i].available) continue;
        if (!forced || !*forced || strcmp(forced, list[i].kernels->isa) == 0) {
            *out = list[i].kernels;
            text_free(&known);
            return JF_OK;
        }
        text_add(&known, " %s", list[i].kernels->isa);
    }
    jf_status status = jf_fail(ctx, JF_ERROR_DEVICE, "JOINTFLOW_ISA=%s: this machine can run:%s", forced,
                               known.chars ? known.chars : "");
    text_free(&known);
    return status;
}

static jf_status cpu_status(device *d) {
    (void)d;
    return JF_OK; /* it needs no memory but what was asked for with alloc */
}

static void cpu_describe(const device *d, char *out, size_t size) {
    const cpu_device *own = d->own;
    snprintf(out, size, "float, %s, %d thread%s", own->kernels->isa, pool_threads(own->pool),
             pool_threads(own->pool) == 1 ? "" : "s");
}

int cpu_slices(int n) {
    int slices = (n + 23) / 24; /* a slice is worth a task from about two dozen samples */
    return slices < 1 ? 1 : slices > CPU_SLICES ? CPU_SLICES : slices;
}

int cpu_slice_begin(int n, int slices, int i) {
    return (int)((long)n * i / slices);
}

/* Memory for free(), aligned to cache lines; long arrays in large pages where the system has them, since a
 * walk through them in small ones waits for address translation. */
static void *large_pages(size_t bytes) {
    const size_t line = 64, page = (size_t)1 << 21;
    size_t alignment = bytes >= page ? page : line;
    void *p = aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
#ifdef MADV_HUGEPAGE
    if (p && alignment == page) madvise(p, bytes / page * page, MADV_HUGEPAGE);
#endif
    return p;
}

static void cpu_close(device *d) {
    cpu_device *own = d->own;
    pool_free(own->pool);
    process_lock_destroy(&own->partial_lock);
    free(own->partial);
    free(own->meters);
    free(own);
}

static jf_status cpu_open(device *d, int threads) {
    cpu_device *own;
    const cpu_kernels *kernels;
    JF_TRY(cpu_kernels_choose(d->ctx, &kernels));
    JF_TRY(MEM_NEW(d->ctx, &own, 1));
    d->own = own;
    own->kernels = kernels;
    process_lock_init(&own->partial_lock);
    own->partial = large_pages(CPU_PARTIAL * sizeof(float));
    jf_status status = own->partial
                           ? pool_create(d->ctx, &own->pool, threads > 0 ? threads : threads_available())
                           : jf_fail(d->ctx, JF_ERROR_MEMORY, "cpu device: no memory for partial sums");
    if (status != JF_OK) cpu_close(d);
    return status;
}

static jf_status cpu_alloc(device *d, real **out, size_t count) {
    void *p = count > SIZE_MAX / 8 ? NULL : large_pages(count * sizeof(float));
    if (!p) return jf_fail(d->ctx, JF_ERROR_MEMORY, "cpu device: no memory for %zu numbers", count);
    memset(p, 0, count * sizeof(float));
    *out = p;
    return JF_OK;
}
static void cpu_release(device *d, real *p) {
    (void)d;
    free(p);
}
static jf_status cpu_alloc_map(device *d, int32_t **out, const int32_t *host, size_t count) {
    JF_TRY(MEM_NEW(d->ctx, out, count));
    memcpy(*out, host, count * sizeof *host);
    return JF_OK;
}
static void cpu_release_map(device *d, int32_t *map) {
    (void)d;
    free(map);
}
/* The meter of work that its caller does alone. */
static meter *caller(const device *d) {
    return meter_of(((cpu_device *)d->own)->meters, 0);
}
static void cpu_put(device *d, real *to, const double *from, size_t count) {
    double start = meter_begin(caller(d));
    for (size_t i = 0; i < count; i++) N(to)[i] = (float)from[i];
    meter_end(caller(d), METER_MOVE, start, 0);
}
static void cpu_get(device *d, double *to, const real *from, size_t count) {
    double start = meter_begin(caller(d));
    for (size_t i = 0; i < count; i++) to[i] = (double)C(from)[i];
    meter_end(caller(d), METER_MOVE, start, 0);
}
static void cpu_copy(device *d, real *to, const real *from, size_t count) {
    double start = meter_begin(caller(d));
    memcpy(to, from, count * sizeof(float));
    meter_end(caller(d), METER_MOVE, start, 0);
}
static void cpu_add(device *d, real *to, const real *from, size_t count) {
    double start = meter_begin(caller(d));
    for (size_t i = 0; i < count; i++) N(to)[i] += C(from)[i];
    meter_end(caller(d), METER_MOVE, start, 0);
}

typedef struct normal_call {
    float *to;
    int n, dim, slices;
    rng_key key;
    uint64_t first;
    meter *meters;
} normal_call;

static void normal_slice(void *arg, int slice, int worker) {
    normal_call *c = arg;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    int end = cpu_slice_begin(c->n, c->slices, slice + 1);
    for (int s = cpu_slice_begin(c->n, c->slices, slice); s < end; s++) {
        rng r = rng_stream(c->key, c->first + (uint64_t)s);
        for (int i = 0; i < c->dim; i++) c->to[(size_t)s * c->dim + i] = (float)rng_normal(&r);
    }
    meter_end(m, METER_RANDOM, start, 0);
}

static void cpu_normal(device *d, real *to, int n, int dim, rng_key key, uint64_t first) {
    cpu_device *own = d->own;
    normal_call c = {N(to), n, dim, cpu_slices(n), key, first, own->meters};
    pool_run(own->pool, c.slices, normal_slice, &c);
}

/* So many elements are a task, whatever the number of threads. */
enum { DROPOUT_TASK = 16384 };

typedef struct dropout_call {
    float *x;
    size_t count;
    const dropout_mask *mask;
    double step;
    meter *meters;
} dropout_call;

static void dropout_task(void *arg, int task, int worker) {
    const dropout_call *c = arg;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m), factors[DROPOUT_BLOCK];
    size_t end = (size_t)(task + 1) * DROPOUT_TASK < c->count ? (size_t)(task + 1) * DROPOUT_TASK : c->count;
    size_t begin = (size_t)task * DROPOUT_TASK;
    for (size_t i = begin; i < end; i++) {
        uint64_t at = c->mask->first + i;
        if (i == begin || at % DROPOUT_BLOCK == 0)
            dropout_factors(c->mask->source.seed, c->step, c->mask->place, c->mask->rate, at / DROPOUT_BLOCK,
                            factors);
        c->x[i] *= (float)factors[at % DROPOUT_BLOCK];
    }
    meter_end(m, METER_RANDOM, start, 0);
}

static void cpu_dropout(device *d, real *x, size_t count, const dropout_mask *mask) {
    cpu_device *own = d->own;
    dropout_call c = {N(x), count, mask, *(const double *)mask->source.step, own->meters};
    pool_run(own->pool, (int)((count + DROPOUT_TASK - 1) / DROPOUT_TASK), dropout_task, &c);
}

/* Index maps over bands of rows, of large arrays on all threads. */
typedef struct map_call {
    int n, count, dim, band;
    const int32_t *map;
    float *part, *whole;
} map_call;

enum { MAP_BAND = 16384 }; /* numbers of a task, about */

#define MAP_ROWS(name, statement)                                                                            \
    static void name(void *arg, int task, int worker) {                                                      \
        (void)worker;                                                                                        \
        const map_call *c = arg;                                                                             \
        int end = task * c->band + c->band < c->n ? task * c->band + c->band : c->n;                         \
        for (size_t s = (size_t)(task * c->band); s < (size_t)end; s++) {                                    \
            float *part = c->part + s * (size_t)c->count, *whole = c->whole + s * (size_t)c->dim;            \
            for (int i = 0; i < c->count; i++) statement;                                                    \
        }                                                                                                    \
    }
MAP_ROWS(gather_rows, part[i] = whole[c->map[i]])
MAP_ROWS(scatter_rows, whole[c->map[i]] = part[i])
MAP_ROWS(scatter_add_rows, whole[c->map[i]] += part[i])
#undef MAP_ROWS

static void run_map(device *d, task_fn rows, const real *part, const real *whole, const int32_t *map, int n,
                    int count, int dim) {
    cpu_device *own = d->own;
    int band = MAP_BAND / (count > 0 ? count : 1) + 1;
    map_call call = {n, count, dim, band, map, (float *)part, (float *)whole};
    pool_run(own->pool, (n + band - 1) / band, rows, &call);
}

static void cpu_gather(device *d, real *part, const real *whole, const int32_t *map, int n, int count,
                       int dim) {
    run_map(d, gather_rows, part, whole, map, n, count, dim);
}
static void cpu_scatter(device *d, real *whole, const real *part, const int32_t *map, int n, int count,
                        int dim) {
    run_map(d, scatter_rows, part, whole, map, n, count, dim);
}
static void cpu_scatter_add(device *d, real *whole, const real *part, const int32_t *map, int n, int count,
                            int dim) {
    run_map(d, scatter_add_rows, part, whole, map, n, count, dim);
}

static void cpu_prior_term(device *d, real *term, real *dstate, const real *state, int n, layout l,
                           double weight) {
    double start = meter_begin(caller(d));
    const float half_log_2pi = 0.918938533f, w = (float)weight;
    size_t dim = (size_t)l.pixels * l.channels;
    for (size_t s = 0; s < (size_t)n; s++) {
        float sum = 0;
        for (size_t p = 0; p < (size_t)l.pixels; p++)
            for (int c = 0; c < l.x_channels; c++) {
                size_t k = s * dim + p * l.channels + c;
                float z = C(state)[k];
                sum += 0.5f * z * z + half_log_2pi;
                if (dstate) N(dstate)[k] = w * z;
            }
        N(term)[s] = sum;
    }
    meter_end(caller(d), METER_LOSS, start, 0);
}

static void cpu_distance_term(device *d, real *term, real *dstate, const real *state, const real *target,
                              int n, layout l, distance_kind kind, double lambda, double weight) {
    double start = meter_begin(caller(d));
    float w = (float)(weight * lambda);
    size_t dim = (size_t)l.pixels * l.channels;
    for (size_t s = 0; s < (size_t)n; s++) {
        float sum = 0;
        for (size_t p = 0; p < (size_t)l.pixels; p++)
            for (int c = l.x_channels; c < l.channels; c++) {
                size_t k = s * dim + p * l.channels + c;
                float e = C(state)[k] - C(target)[k];
                sum += kind == DISTANCE_L1 ? fabsf(e) : e * e;
                if (dstate) N(dstate)[k] = w * (kind == DISTANCE_L1 ? (float)((e > 0) - (e < 0)) : 2 * e);
            }
        N(term)[s] = (float)lambda * sum;
    }
    meter_end(caller(d), METER_LOSS, start, 0);
}

/* In double: the numbers are few. */
static void cpu_rule_term(device *d, real *term, real *dstate, const real *state, int n, const rule_energy *e,
                          double weight) {
    double start = meter_begin(caller(d));
    for (size_t s = 0; s < (size_t)n; s++) {
        const float *at = C(state) + 2 * s;
        double g[2];
        N(term)[s] = (float)rule_energy_at(e, (double[]){at[0], at[1]}, g);
        for (int k = 0; dstate && k < 2; k++) N(dstate)[2 * s + k] = (float)(weight * g[k]);
    }
    meter_end(caller(d), METER_LOSS, start, 0);
}

static void *cpu_host(device *d, real *p) {
    (void)d;
    return p;
}

static jf_status cpu_alloc_scalars(device *d, scalar **out, size_t count) {
    double *p;
    JF_TRY(MEM_NEW(d->ctx, &p, count));
    *out = (scalar *)p;
    return JF_OK;
}
static void cpu_release_scalars(device *d, scalar *p) {
    (void)d;
    free(p);
}
static void cpu_put_scalars(device *d, scalar *to, const double *from, size_t count) {
    (void)d;
    memcpy(to, from, count * sizeof *from);
}
static void cpu_get_scalars(device *d, double *to, const scalar *from, size_t count) {
    (void)d;
    memcpy(to, from, count * sizeof *to);
}
static void cpu_sum_into(device *d, scalar *to, const real *values, size_t count, double weight) {
    double start = meter_begin(caller(d)), sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)C(values)[i];
    *(double *)to += weight * sum;
    meter_end(caller(d), METER_LOSS, start, 0);
}
static void cpu_largest_difference_into(device *d, scalar *to, const real *a, const real *b, size_t count) {
    double start = meter_begin(caller(d)), largest = 0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)C(a)[i] - (double)C(b)[i]));
    *(double *)to = largest;
    meter_end(caller(d), METER_LOSS, start, 0);
}

static void cpu_clamp(device *d, real *p, const int32_t *map, const real *lo, const real *hi, size_t count) {
    (void)d;
    for (size_t i = 0; i < count; i++) {
        float *at = N(p) + map[i];
        if (*at < C(lo)[i]) *at = C(lo)[i];
        if (*at > C(hi)[i]) *at = C(hi)[i];
    }
}

static void cpu_background(device *d, int tasks, task_fn fn, void *arg) {
    pool_background_start(((cpu_device *)d->own)->pool, tasks, fn, arg);
}
static void cpu_background_wait(device *d) {
    pool_background_finish(((cpu_device *)d->own)->pool);
}

const device_kind device_cpu = {
    .name = "cpu",
    .summary = "this machine's processors: float, vector code, threads",
    .real_size = sizeof(float),
    .open = cpu_open,
    .close = cpu_close,
    .status = cpu_status,
    .describe = cpu_describe,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .alloc_map = cpu_alloc_map,
    .release_map = cpu_release_map,
    .put = cpu_put,
    .get = cpu_get,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .add = cpu_add,
    .host = cpu_host,
    .alloc_scalars = cpu_alloc_scalars,
    .release_scalars = cpu_release_scalars,
    .put_scalars = cpu_put_scalars,
    .get_scalars = cpu_get_scalars,
    .sum_into = cpu_sum_into,
    .largest_difference_into = cpu_largest_difference_into,
    .normal = cpu_normal,
    .dropout = cpu_dropout,
    .gather = cpu_gather,
    .scatter = cpu_scatter,
    .scatter_add = cpu_scatter_add,
    .dense_forward = cpu_dense_forward,
    .dense_backward = cpu_dense_backward,
    .conv_forward = cpu_conv_forward,
    .conv_backward = cpu_conv_backward,
    .norm_forward = cpu_norm_forward,
    .norm_backward = cpu_norm_backward,
    .law_forward = cpu_law_forward,
    .law_inverse = cpu_law_inverse,
    .law_backward = cpu_law_backward,
    .prior_term = cpu_prior_term,
    .distance_term = cpu_distance_term,
    .rule_term = cpu_rule_term,
    .adam = cpu_adam,
    .clamp = cpu_clamp,
    .plan_open = cpu_plan_open,
    .plan_close = cpu_plan_close,
    .plan_saved = cpu_plan_saved,
    .plan_scratch = cpu_plan_scratch,
    .plan_run = cpu_plan_run,
    .background = cpu_background,
    .background_wait = cpu_background_wait,
    .profile_start = cpu_profile_start,
    .profile_read = cpu_profile_read,
};
