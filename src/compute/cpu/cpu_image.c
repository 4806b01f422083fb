/* Single convolutions and layer norms on the cpu device, for callers that compose networks themselves:
 * samples over all threads, or, where gradients of parameters are summed over them, one after the other.
 * Whole coupling layers (image_coupling.c) are the fast path. */
#include "compute/cpu/cpu.h"

typedef float num;
#include "compute/image.h"

/* One operation of either kind on a batch. */
typedef struct image_call {
    const conv_shape *conv;
    const norm_shape *norm;
    int n, backward;
    size_t in, out; /* numbers of a sample of x and of y */
    const float *x, *w, *b, *dy;
    float *y, *dx;
} image_call;

static void run_sample(const image_call *c, size_t s, float *d_first, float *d_second) {
    const float *x = c->x + s * c->in;
    if (c->conv && !c->backward)
        image_conv_forward(c->conv, c->y + s * c->out, x, c->w, c->b);
    else if (c->conv)
        image_conv_backward(c->conv, c->dx + s * c->in, d_first, d_second, c->dy + s * c->out, x, c->w);
    else if (!c->backward)
        image_norm_forward(c->norm, c->y + s * c->out, x, c->w, c->b);
    else
        image_norm_backward(c->norm, c->dx + s * c->in, d_first, d_second, c->dy + s * c->out, x, c->w);
}

static void run_one(void *arg, int sample, int worker) {
    (void)worker;
    run_sample(arg, (size_t)sample, NULL, NULL);
}

static void run(device *d, const image_call *c, float *d_first, float *d_second) {
    cpu_device *own = d->own;
    if (!d_first) {
        pool_run(own->pool, c->n, run_one, (void *)c);
        return;
    }
    for (size_t s = 0; s < (size_t)c->n; s++) run_sample(c, s, d_first, d_second);
}

static image_call conv_call(const conv_shape *c, int n, const real *x, const real *w) {
    size_t pixels = (size_t)c->h * (size_t)c->w;
    return (image_call){.conv = c,
                        .n = n,
                        .in = pixels * (size_t)c->in,
                        .out = pixels * (size_t)c->y_channels,
                        .x = (const float *)x,
                        .w = (const float *)w};
}

void cpu_conv_forward(device *d, const conv_shape *c, int n, real *y, const real *x, const real *w,
                      const real *b) {
    image_call call = conv_call(c, n, x, w);
    call.y = (float *)y;
    call.b = (const float *)b;
    run(d, &call, NULL, NULL);
}

void cpu_conv_backward(device *d, const conv_shape *c, int n, real *dx, real *dw, real *db, const real *dy,
                       const real *x, const real *w) {
    image_call call = conv_call(c, n, x, w);
    call.backward = 1;
    call.dx = (float *)dx;
    call.dy = (const float *)dy;
    run(d, &call, (float *)dw, (float *)db);
}

static image_call norm_call(const norm_shape *s, int n, const real *x, const real *g) {
    size_t count = (size_t)s->pixels * (size_t)s->channels;
    return (image_call){
        .norm = s, .n = n, .in = count, .out = count, .x = (const float *)x, .w = (const float *)g};
}

void cpu_norm_forward(device *d, const norm_shape *s, int n, real *y, const real *x, const real *g,
                      const real *b) {
    image_call call = norm_call(s, n, x, g);
    call.y = (float *)y;
    call.b = (const float *)b;
    run(d, &call, NULL, NULL);
}

void cpu_norm_backward(device *d, const norm_shape *s, int n, real *dx, real *dg, real *db, const real *dy,
                       const real *x, const real *g) {
    image_call call = norm_call(s, n, x, g);
    call.backward = 1;
    call.dx = (float *)dx;
    call.dy = (const float *)dy;
    run(d, &call, (float *)dg, (float *)db);
}
