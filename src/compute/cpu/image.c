/* Convolutions and layer norms on the cpu device: slices of the batch over the pool, a sample at a time. Gradients of
 * parameters are summed by slice, in the order of the slices. */
#include "compute/cpu/cpu.h"
#include <string.h>

typedef float num;
#include "compute/image.h"

/* One operation of either kind on a batch. */
typedef struct image_call {
    const conv_shape *conv;
    const norm_shape *norm;
    int n, slices, backward;
    size_t in, out;       /* numbers of a sample of x and of y */
    size_t first, second; /* numbers of the two parameters: w and b, or g and b */
    const float *x, *w, *b, *dy;
    float *y, *dx, *partial; /* (slices, first + second), NULL: no gradients of parameters */
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

static void run_slice(void *arg, int slice, int worker) {
    (void)worker;
    image_call *c = arg;
    float *d_first = NULL, *d_second = NULL;
    if (c->partial) {
        d_first = c->partial + (size_t)slice * (c->first + c->second);
        d_second = d_first + c->first;
        memset(d_first, 0, sizeof(float) * (c->first + c->second));
    }
    int end = cpu_slice_begin(c->n, c->slices, slice + 1);
    for (int s = cpu_slice_begin(c->n, c->slices, slice); s < end; s++)
        run_sample(c, (size_t)s, d_first, d_second);
}

/* A sample is work enough for a task of its own. */
static int image_slices(int n) {
    return n < CPU_SLICES ? n : CPU_SLICES;
}

static void run(device *d, image_call *c, float *d_first, float *d_second) {
    cpu_device *own = d->own;
    size_t stride = c->first + c->second;
    c->slices = image_slices(c->n);
    if (d_first) {
        c->partial = cpu_scratch(d, (size_t)c->slices * stride);
        if (!c->partial) return;
    }
    pool_run(own->pool, c->slices, run_slice, c);
    if (!d_first) return;
    own->kernels->add_parts(d_first, c->partial, stride, c->slices, c->first);
    own->kernels->add_parts(d_second, c->partial + c->first, stride, c->slices, c->second);
}

static image_call conv_call(const conv_shape *c, int n, const real *x, const real *w) {
    size_t pixels = (size_t)c->h * (size_t)c->w;
    return (image_call){.conv = c,
                        .n = n,
                        .in = pixels * (size_t)c->in,
                        .out = pixels * (size_t)c->y_channels,
                        .first = (size_t)(c->kernel * c->kernel * (c->in / c->groups)) * (size_t)c->out,
                        .second = (size_t)c->out,
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
    size_t count = (size_t)s->pixels * (size_t)s->channels,
           params = s->per_element ? count : (size_t)s->channels;
    return (image_call){.norm = s,
                        .n = n,
                        .in = count,
                        .out = count,
                        .first = params,
                        .second = params,
                        .x = (const float *)x,
                        .w = (const float *)g};
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
