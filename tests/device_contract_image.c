/* The contract of devices, continued: convolutions and layer norms. */
#include "device_contract.h"

typedef struct conv_case {
    conv_shape s;
    int n;
} conv_case;

static void run_conv(trial *t, const void *sizes) {
    const conv_case *z = sizes;
    const device_kind *k = t->l->d->kind;
    const conv_shape *s = &z->s;
    size_t pixels = (size_t)z->n * (size_t)(s->h * s->w), xs = pixels * (size_t)s->in, bs = (size_t)s->out;
    size_t ys = pixels * (size_t)s->y_channels,
           ws = (size_t)(s->kernel * s->kernel * (s->in / s->groups)) * bs;
    double *x = draw_normal(xs, 1, 21), *w = draw_normal(ws, 0.3, 22), *bias = draw_normal(bs, 0.3, 23);
    double *g = draw_normal(ys, 1, 24), *before = draw_normal(ys, 1, 25);
    real *rx = lab_put(t->l, x, xs), *rw = lab_put(t->l, w, ws), *rb = lab_put(t->l, bias, bs);
    real *y = lab_put(t->l, before, ys), *dy = lab_put(t->l, g, ys);
    real *dx = begun(t, xs), *dx_only = begun(t, xs), *dw = begun(t, ws), *db = begun(t, bs);
    k->conv_forward(t->l->d, s, z->n, y, rx, rw, rb);
    k->conv_backward(t->l->d, s, z->n, dx, dw, db, dy, rx, rw);
    k->conv_backward(t->l->d, s, z->n, dx_only, NULL, NULL, dy, rx, rw);
    take(t, "conv_forward y", OVERWRITES, y,
         ys); /* channels of other branches stay as they were, on both devices */
    take(t, "conv_backward dx", ADDS, dx, xs);
    take(t, "conv_backward dx alone", ADDS, dx_only, xs);
    take(t, "conv_backward dw", ADDS, dw, ws);
    take(t, "conv_backward db", ADDS, db, bs);
    free(x), free(w), free(bias), free(g), free(before);
}

void check_convolution(const bench *b) {
    static const conv_shape shapes[] = {
        {4, 4, 3, 5, 1, 1, 1, 5, 0},     {4, 6, 4, 8, 3, 1, 4, 8, 0}, {7, 7, 8, 4, 3, 2, 2, 14, 8},
        {14, 14, 2, 16, 3, 1, 1, 16, 0}, {9, 5, 8, 2, 3, 4, 1, 3, 1}, {2, 2, 6, 6, 3, 2, 3, 6, 0},
    };
    static const int samples[] = {1, 3, 8, 9, 20};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t j = 0; j < sizeof samples / sizeof *samples; j++) {
            conv_case z = {shapes[i], samples[j]};
            char what[96];
            snprintf(what, sizeof what, "convolution %zu of %d samples", i, z.n);
            compare(b, run_conv, &z, what);
        }
}

typedef struct norm_case {
    norm_shape s;
    int n;
} norm_case;

static void run_norm(trial *t, const void *sizes) {
    const norm_case *z = sizes;
    const device_kind *k = t->l->d->kind;
    const norm_shape *s = &z->s;
    size_t count = (size_t)(s->pixels * s->channels), xs = (size_t)z->n * count;
    size_t gs = s->per_element ? count : (size_t)s->channels;
    double *x = draw_normal(xs, 1, 31), *g = draw_normal(gs, 1, 32), *bias = draw_normal(gs, 0.3, 33);
    double *dy = draw_normal(xs, 1, 34);
    real *rx = lab_put(t->l, x, xs), *rg = lab_put(t->l, g, gs), *rb = lab_put(t->l, bias, gs);
    real *rdy = lab_put(t->l, dy, xs), *y = poison(t, xs), *dx = poison(t, xs), *dx_only = poison(t, xs);
    real *dg = begun(t, gs), *db = begun(t, gs);
    k->norm_forward(t->l->d, s, z->n, y, rx, rg, rb);
    k->norm_backward(t->l->d, s, z->n, dx, dg, db, rdy, rx, rg);
    k->norm_backward(t->l->d, s, z->n, dx_only, NULL, NULL, rdy, rx, rg);
    take(t, "norm_forward y", OVERWRITES, y, xs);
    take(t, "norm_backward dx", OVERWRITES, dx, xs);
    take(t, "norm_backward dx alone", OVERWRITES, dx_only, xs);
    take(t, "norm_backward dg", ADDS, dg, gs);
    take(t, "norm_backward db", ADDS, db, gs);
    free(x), free(g), free(bias), free(dy);
}

void check_norm(const bench *b) {
    static const int samples[] = {1, 7, 8, 17};
    for (int per_element = 0; per_element < 2; per_element++)
        for (size_t j = 0; j < sizeof samples / sizeof *samples; j++)
            for (int channels = 1; channels < 20; channels += 6) {
                norm_case z = {{1 + 5 * channels, channels, per_element, channels % 4 == 3 ? 1 : 0.3, 1e-3},
                               samples[j]};
                char what[96];
                snprintf(what, sizeof what, "norm of %d samples, %d channels", z.n, channels);
                compare(b, run_norm, &z, what);
            }
}
