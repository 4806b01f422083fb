#include "counting_device.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef double num;
#include "compute/batch_formulas.h"

extern const device_kind device_ref;

typedef struct counting {
    char *trace;
    size_t length, room;
    long calls, last_return, fail_after;
} counting;

void counting_mark(device *d, char mark) {
    counting *c = d->own;
    if (c->length + 2 > c->room) {
        c->room = 2 * c->room + 64;
        c->trace = realloc(c->trace, c->room);
        if (!c->trace) abort();
    }
    c->trace[c->length++] = mark;
    c->trace[c->length] = 0;
}

const char *counting_trace(device *d) {
    const counting *c = d->own;
    return c->trace ? c->trace : "";
}

long counting_calls(const device *d) {
    return ((const counting *)d->own)->calls;
}

long counting_last_return(const device *d) {
    return ((const counting *)d->own)->last_return;
}

void counting_fail_after(device *d, long calls) {
    ((counting *)d->own)->fail_after = calls;
}

static int failed(const device *d) {
    const counting *c = d->own;
    return c->fail_after > 0 && c->calls >= c->fail_after;
}

/* Whether the call still has an effect. */
static int count(device *d, char mark) {
    counting *c = d->own;
    c->calls++;
    if (mark == 'R') c->last_return = c->calls;
    if (mark != '.') counting_mark(d, mark);
    return !failed(d);
}

/* ---- life ---- */

static jf_status counting_open(device *d, int threads) {
    (void)threads;
    counting *c;
    JF_TRY(MEM_NEW(d->ctx, &c, 1));
    d->own = c;
    return JF_OK;
}

static void counting_close(device *d) {
    counting *c = d->own;
    free(c->trace);
    free(c);
}

static jf_status counting_status(device *d) {
    if (count(d, 'R')) return JF_OK;
    return jf_fail(d->ctx, JF_ERROR_DEVICE, "counting device: failed after %ld calls, as it was told to",
                   ((counting *)d->own)->fail_after);
}

static void counting_describe(const device *d, char *words, size_t size) {
    device_ref.describe(d, words, size);
}

/* ---- what waits, transfers or allocates ---- */

static jf_status counting_alloc(device *d, real **out, size_t n) {
    count(d, 'A');
    return device_ref.alloc(d, out, n);
}
static void counting_release(device *d, real *p) {
    count(d, 'A');
    device_ref.release(d, p);
}
static jf_status counting_alloc_map(device *d, int32_t **out, const int32_t *host, size_t n) {
    count(d, 'A');
    return device_ref.alloc_map(d, out, host, n);
}
static void counting_release_map(device *d, int32_t *map) {
    count(d, 'A');
    device_ref.release_map(d, map);
}
static jf_status counting_alloc_scalars(device *d, scalar **out, size_t n) {
    count(d, 'A');
    return device_ref.alloc_scalars(d, out, n);
}
static void counting_release_scalars(device *d, scalar *p) {
    count(d, 'A');
    device_ref.release_scalars(d, p);
}
static void counting_put(device *d, real *to, const double *from, size_t n) {
    if (count(d, 'T')) device_ref.put(d, to, from, n);
}
static void *counting_host(device *d, real *p) {
    count(d, 'R');
    return device_ref.host(d, p);
}
static void counting_put_scalars(device *d, scalar *to, const double *from, size_t n) {
    if (count(d, 'T')) device_ref.put_scalars(d, to, from, n);
}
static void counting_get(device *d, double *to, const real *from, size_t n) {
    if (count(d, 'R')) device_ref.get(d, to, from, n);
    for (size_t i = 0; failed(d) && i < n; i++) to[i] = NAN;
}
static void counting_get_scalars(device *d, double *to, const scalar *from, size_t n) {
    if (count(d, 'R')) device_ref.get_scalars(d, to, from, n);
    for (size_t i = 0; failed(d) && i < n; i++) to[i] = NAN;
}

/* ---- what can be queued ---- */

#define QUEUED(name, mark, params, ...)                                                                      \
    static void counting_##name params {                                                                     \
        if (count(d, mark)) device_ref.name(__VA_ARGS__);                                                    \
    }
QUEUED(copy, '.', (device * d, real *to, const real *from, size_t n), d, to, from, n)
QUEUED(fill, '.', (device * d, real *to, double value, size_t n), d, to, value, n)
QUEUED(add, '.', (device * d, real *to, const real *from, size_t n), d, to, from, n)
QUEUED(sum_into, '.', (device * d, scalar *to, const real *x, size_t n, double weight), d, to, x, n, weight)
QUEUED(largest_difference_into, '.', (device * d, scalar *to, const real *a, const real *b, size_t n), d, to,
       a, b, n)
QUEUED(normal, 'S', (device * d, real *to, int n, int dim, rng_key key, uint64_t first), d, to, n, dim, key,
       first)
QUEUED(dropout, '.', (device * d, real *x, size_t n, const dropout_mask *mask), d, x, n, mask)
QUEUED(gather, '.', (device * d, real *p, const real *w, const int32_t *map, int n, int k, int dim), d, p, w,
       map, n, k, dim)
QUEUED(scatter, '.', (device * d, real *w, const real *p, const int32_t *map, int n, int k, int dim), d, w, p,
       map, n, k, dim)
QUEUED(scatter_add, '.', (device * d, real *w, const real *p, const int32_t *map, int n, int k, int dim), d,
       w, p, map, n, k, dim)
QUEUED(dense_forward, '.',
       (device * d, real *y, const real *x, const real *w, const real *b, int n, int in, int out,
        double slope),
       d, y, x, w, b, n, in, out, slope)
QUEUED(dense_backward, '.',
       (device * d, real *dx, real *dw, real *db, real *dy, const real *y, const real *x, const real *w,
        int n, int in, int out, double slope),
       d, dx, dw, db, dy, y, x, w, n, in, out, slope)
QUEUED(conv_forward, '.',
       (device * d, const conv_shape *c, int n, real *y, const real *x, const real *w, const real *b), d, c,
       n, y, x, w, b)
QUEUED(conv_backward, '.',
       (device * d, const conv_shape *c, int n, real *dx, real *dw, real *db, const real *dy, const real *x,
        const real *w),
       d, c, n, dx, dw, db, dy, x, w)
QUEUED(norm_forward, '.',
       (device * d, const norm_shape *s, int n, real *y, const real *x, const real *g, const real *b), d, s,
       n, y, x, g, b)
QUEUED(norm_backward, '.',
       (device * d, const norm_shape *s, int n, real *dx, real *dg, real *db, const real *dy, const real *x,
        const real *g),
       d, s, n, dx, dg, db, dy, x, g)
QUEUED(law_forward, '.', (device * d, const law_batch *c, real *u, real *logdet), d, c, u, logdet)
QUEUED(law_inverse, '.', (device * d, const law_batch *c, real *v, real *logdet), d, c, v, logdet)
QUEUED(law_backward, '.',
       (device * d, const law_batch *c, real *v, real *dv, const real *dl, real *dA, real *db, real *ds), d,
       c, v, dv, dl, dA, db, ds)
QUEUED(prior_term, '.',
       (device * d, real *term, real *dstate, const real *state, int n, layout l, double weight), d, term,
       dstate, state, n, l, weight)
QUEUED(distance_term, '.',
       (device * d, real *term, real *dstate, const real *state, const real *target, int n, layout l,
        distance_kind kind, double lambda, double weight),
       d, term, dstate, state, target, n, l, kind, lambda, weight)
QUEUED(rule_term, '.',
       (device * d, real *term, real *dstate, const real *state, int n, const rule_energy *e, double weight),
       d, term, dstate, state, n, e, weight)
QUEUED(adam, 'O', (device * d, const adam_step *step), d, step)
QUEUED(clamp, '.', (device * d, real *p, const int32_t *map, const real *lo, const real *hi, size_t n), d, p,
       map, lo, hi, n)

/* ---- data ---- */

struct device_data {
    resident_view view;
    void *owned[10];
    int owned_count;
};

/* A copy of an array of the host, in the memory of the device. */
static jf_status hold(device *d, device_data *data, const void **out, const void *from, size_t count_of,
                      size_t size) {
    void *copy;
    *out = NULL;
    if (!from || count_of == 0) return JF_OK;
    JF_TRY(mem_alloc(d->ctx, &copy, count_of, size));
    memcpy(copy, from, count_of * size);
    data->owned[data->owned_count++] = copy;
    *out = copy;
    return JF_OK;
}

static jf_status hold_values(device *d, device_data *data, const resident_data *from) {
    size_t rows = (size_t)(from->rows + from->validation_rows), width = (size_t)from->width;
    if (from->bytes) return hold(d, data, (const void **)&data->view.bytes, from->bytes, rows * width, 1);
    num *values;
    double *scratch;
    JF_TRY(MEM_NEW(d->ctx, &values, rows * width));
    data->owned[data->owned_count++] = values;
    JF_TRY(MEM_NEW(d->ctx, &scratch, from->scratch + 1));
    for (size_t i = 0; i < rows; i++) from->read(from->source, (long)i, scratch, values + i * width);
    free(scratch);
    data->view.reals = values;
    return JF_OK;
}

static jf_status hold_classes(device *d, device_data *data, const resident_data *from) {
    size_t rows = (size_t)(from->rows + from->validation_rows), classes = (size_t)from->classes;
    uint8_t *of_rows;
    if (classes == 0) return JF_OK;
    JF_TRY(MEM_NEW(d->ctx, &of_rows, rows));
    data->owned[data->owned_count++] = of_rows;
    for (size_t i = 0; i < rows; i++) of_rows[i] = (uint8_t)from->row_class(from->source, (long)i);
    data->view.row_class = of_rows;
    JF_TRY(hold(d, data, (const void **)&data->view.label, from->label, classes, sizeof(double)));
    JF_TRY(
        hold(d, data, (const void **)&data->view.class_start, from->class_start, classes + 1, sizeof(long)));
    return hold(d, data, (const void **)&data->view.class_rows, from->class_rows, (size_t)from->rows,
                sizeof(long));
}

static void counting_data_close(device *d, device_data *data) {
    count(d, 'A');
    for (int i = 0; i < data->owned_count; i++) free(data->owned[i]);
    free(data);
}

static jf_status fill_in(device *d, device_data *data, const resident_data *from) {
    size_t dim = (size_t)(from->dim_x + from->dim_y), state = (size_t)(from->dim_x + from->model_y);
    resident_view *v = &data->view;
    *v = resident_view_of(from);
    JF_TRY(hold_values(d, data, from));
    JF_TRY(hold_classes(d, data, from));
    JF_TRY(hold(d, data, (const void **)&v->value, from->value, 256, sizeof(double)));
    JF_TRY(hold(d, data, (const void **)&v->mean, from->mean, dim, sizeof(double)));
    JF_TRY(hold(d, data, (const void **)&v->deviation, from->deviation, dim, sizeof(double)));
    return hold(d, data, (const void **)&v->order, from->order, state, sizeof(int32_t));
}

static jf_status counting_data_open(device *d, device_data **out, const resident_data *from) {
    count(d, 'A');
    device_data *data;
    *out = NULL;
    JF_TRY(MEM_NEW(d->ctx, &data, 1));
    jf_status status = fill_in(d, data, from);
    if (status == JF_OK)
        *out = data;
    else
        counting_data_close(d, data);
    return status;
}

static void counting_data_batch(device *d, const device_data *data, const batch_request *q, real *state) {
    if (!count(d, 'S')) return;
    const resident_view *v = &data->view;
    num *to = (num *)state;
    for (int i = 0; i < q->n; i++) {
        batch_sample s = batch_sample_of(v, q, i);
        for (int k = 0; k < v->dim_x + v->model_y; k++) *to++ = batch_element(v, q, &s, i, k);
    }
}

#define SAME(name) .name = counting_##name
const device_kind counting_device = {
    .name = "counting",
    .summary = "the reference, with a count of what is asked of it",
    .real_size = sizeof(num),
    SAME(open),
    SAME(close),
    SAME(status),
    SAME(describe),
    SAME(alloc),
    SAME(release),
    SAME(alloc_map),
    SAME(release_map),
    SAME(put),
    SAME(get),
    SAME(copy),
    SAME(fill),
    SAME(add),
    SAME(host),
    SAME(alloc_scalars),
    SAME(release_scalars),
    SAME(put_scalars),
    SAME(get_scalars),
    SAME(sum_into),
    SAME(largest_difference_into),
    SAME(normal),
    SAME(dropout),
    SAME(gather),
    SAME(scatter),
    SAME(scatter_add),
    SAME(dense_forward),
    SAME(dense_backward),
    SAME(conv_forward),
    SAME(conv_backward),
    SAME(norm_forward),
    SAME(norm_backward),
    SAME(law_forward),
    SAME(law_inverse),
    SAME(law_backward),
    SAME(prior_term),
    SAME(distance_term),
    SAME(rule_term),
    SAME(adam),
    SAME(clamp),
    SAME(data_open),
    SAME(data_close),
    SAME(data_batch),
};
