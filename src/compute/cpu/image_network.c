#include "compute/cpu/image_network.h"
#include "compute/cpu/norm_kernels.h"
#include <string.h>

/* ---- images ---- */

/* Products work on whole tiles of rows, and vectors may extend beyond the last pixel. */
static size_t compact_count(const image_network *t, int pad) {
    return cpu_whole_lines((size_t)(t->pixels + CPU_ROWS) * (size_t)pad + 2 * CPU_MAX_VECTOR);
}
static size_t spaced_count(const image_network *t, int pad) {
    return cpu_whole_lines((size_t)(t->net->h * t->spaced + t->halo) * (size_t)pad + 2 * CPU_MAX_VECTOR);
}
static image_view compact(const image_network *t, float *at, int pad) {
    return (image_view){at, (size_t)t->net->w * (size_t)pad, (size_t)pad};
}
static image_view spaced(const image_network *t, float *at, int pad) {
    return (image_view){at + (size_t)t->halo * (size_t)pad, (size_t)t->spaced * (size_t)pad, (size_t)pad};
}

/* Of a block: what its first product gives, what its branches give, and its result, the next one's input h.
 */
static size_t block_count(const image_network *t) {
    return 2 * compact_count(t, t->thin) + compact_count(t, t->wide);
}
static size_t images_count(const image_network *t, int all) {
    if (t->net->depth == 0) return compact_count(t, t->thin);
    return (all ? (size_t)t->net->depth : 1) * block_count(t);
}
size_t image_acts_count(const image_network *t, int all) {
    return images_count(t, all) + cpu_whole_lines(2 * (3 * (size_t)t->net->depth + 1));
}
static float *acts_middle(const image_network *t, const image_acts *a, int i) {
    return a->at + (a->all ? (size_t)i : 0) * block_count(t);
}
static float *acts_concat(const image_network *t, const image_acts *a, int i) {
    return acts_middle(t, a, i) + compact_count(t, t->thin);
}
/* Input of residual block i; i = depth: the last h. That of the first one is quickly made again, hence not
 * kept. */
static float *acts_h(const image_network *t, const image_acts *a, const image_spare *s, int i) {
    if (i == 0) return t->net->depth == 0 ? a->at : s->h;
    return acts_concat(t, a, i - 1) + compact_count(t, t->wide);
}
/* Mean and scale of norm `index` of block i. */
static float *acts_moments(const image_network *t, const image_acts *a, int i, int index) {
    return a->at + images_count(t, a->all) + 2 * (3 * (size_t)i + (size_t)index);
}

static int widest(const image_network *t) {
    return t->wide > t->thin ? t->wide : t->thin;
}
size_t image_spare_count(const image_network *t) {
    return 2 * compact_count(t, widest(t)) + 2 * compact_count(t, t->thin) + spaced_count(t, t->thin) +
           spaced_count(t, t->wide) + t->conv_scratch;
}
image_spare image_spare_place(const image_network *t, float *at) {
    image_spare s = {0};
    s.y_spaced = at;
    s.g_spaced = s.y_spaced + spaced_count(t, t->thin);
    s.y = s.g_spaced + spaced_count(t, t->wide);
    s.g = s.y + compact_count(t, widest(t));
    s.t = s.g + compact_count(t, widest(t));
    s.h = s.t + compact_count(t, t->thin);
    s.conv = s.h + compact_count(t, t->thin);
    return s;
}
void image_spare_clear(const image_spare *s) {
    memset(s->y_spaced, 0, sizeof(float) * (size_t)(s->y - s->y_spaced));
}
size_t image_dh_count(const image_network *t) {
    return compact_count(t, t->thin);
}
size_t image_edge_count(const image_network *t) {
    return spaced_count(t, t->edge);
}
image_view image_edge_view(const image_network *t, float *at) {
    return spaced(t, at, t->edge);
}

/* ---- running it ---- */

/* Multiplications and additions of one convolution of a sample, or of one of its two gradients. */
static double conv_flops(const conv_job *c) {
    return 2.0 * 9 * c->h * c->w * c->groups * c->in * c->out;
}
static double product_flops(const image_network *t, const product_plan *p) {
    return 2.0 * t->pixels * p->in * p->out;
}

static void run_conv(const cpu_kernels *k, const image_spare *s, meter_part part, const conv_job *sizes,
                     image_view x, image_view y, float *w, const float *b, int add) {
    double start = meter_begin(s->m);
    conv_job c = *sizes;
    c.scratch = s->conv;
    c.x = x;
    c.y = y;
    c.packed = w;
    c.b = b;
    c.add = add;
    k->image->conv(&c);
    meter_end(s->m, part, start, conv_flops(&c));
}

/* Norm m of x (compact, `pad` channels). */
static norm_job norm_of(const image_network *t, const image_norm *m, const float *x, int pad) {
    return (norm_job){.pixels = t->pixels,
                      .channels = m->shape.channels,
                      .pad = (size_t)pad,
                      .p_pixel = m->shape.per_element ? (size_t)m->shape.channels : 0,
                      .slope = (float)m->shape.slope,
                      .g = t->params + m->g,
                      .b = t->params + m->b,
                      .x = x};
}

/* The same with its moments, where x has just been made; they are left for the backward pass. */
static norm_job measured_norm(const image_network *t, const cpu_kernels *k, const image_norm *m,
                              const float *x, int pad, float *moments) {
    norm_job n = norm_of(t, m, x, pad);
    k->image->norm->moments(&n, m->shape.epsilon);
    moments[0] = n.mean;
    moments[1] = n.scale;
    return n;
}

/* y = norm(x) */
static void run_norm(const image_network *t, const cpu_kernels *k, meter *worker, const image_norm *m,
                     float *x, int pad, image_view y, float *moments) {
    double start = meter_begin(worker);
    norm_job n = measured_norm(t, k, m, x, pad, moments);
    int width = t->net->w;
    for (int i = 0; i < t->net->h; i++)
        k->image->norm->normalise(&n, i * width, width, y.at + (size_t)i * y.row);
    meter_end(worker, METER_NORM, start, 0);
}

/* A norm and the product that reads or makes its numbers take turns, BAND pixels each: what one leaves is in
 * the first cache for the other, and the product fetches what the norm will read next. Whole tiles of rows,
 * so that none is computed twice. */
enum { BAND = 4 * CPU_ROWS };

static int band_at(const image_network *t, int first) {
    int left = t->pixels - first;
    return left < BAND ? left : BAND;
}

/* The part that belongs to the band from pixel `first` on, if there is one, of two arrays with `step` numbers
 * per pixel. */
static void fetch_band(const image_network *t, fetch_list *f, const float *a, const float *b, size_t step,
                       int first) {
    if (first >= t->pixels || step == 0) return; /* 0: parameters that all pixels share */
    size_t at = (size_t)first * step, count = (size_t)band_at(t, first) * step;
    fetch_add(f, a + at, count);
    if (b) fetch_add(f, b + at, count);
}

/* Times of the two that take turns, each counted as one call. */
typedef struct turns {
    meter *m;
    double since, norm, product;
} turns;

static turns turns_begin(meter *m) {
    return (turns){m, meter_begin(m), 0, 0};
}
static void turns_add(turns *t, double *to) {
    double now = meter_begin(t->m);
    *to += now - t->since;
    t->since = now;
}
static void turns_end(const turns *t, meter_part norm, meter_part product, double flops) {
    double now = meter_begin(t->m);
    meter_end(t->m, norm, now - t->norm, 0);
    meter_end(t->m, product, now - t->product, flops);
}

/* y = norm(x) w + b of a 1x1 convolution, and + h where h is not NULL; y and h have `thin` channels.
 * Parameters of norm `soon`, if there is one, are fetched, too. */
static void run_norm_product(const image_network *t, const cpu_kernels *k, const image_spare *s,
                             const image_norm *m, const float *x, int pad, float *moments,
                             const product_plan *p, const float *packed, const float *h, float *y,
                             const image_norm *soon) {
    turns turn = turns_begin(s->m);
    norm_job n = measured_norm(t, k, m, x, pad, moments), later = norm_of(t, soon ? soon : m, x, pad);
    for (int first = 0; first < t->pixels; first += BAND) {
        int count = band_at(t, first);
        size_t at = (size_t)first * (size_t)t->thin;
        fetch_list f = {0};
        k->image->norm->normalise(&n, first, count, s->y);
        turns_add(&turn, &turn.norm);
        fetch_band(t, &f, n.g, n.b, n.p_pixel, first + BAND);
        fetch_band(t, &f, n.x, NULL, n.pad, first + BAND);
        if (soon) fetch_band(t, &f, later.g, later.b, later.p_pixel, first);
        k->image->product(count, t->thin, p->in, s->y, n.pad, packed + p->w, packed + p->b, h ? h + at : NULL,
                          y + at, (size_t)t->thin, &f);
        turns_add(&turn, &turn.product);
    }
    turns_end(&turn, METER_NORM, METER_PRODUCT, product_flops(t, p));
}

static void run_block(const image_network *t, const cpu_kernels *k, int i, const image_acts *a,
                      const image_spare *s) {
    const image_residual *b = &t->net->blocks[i];
    float *h = acts_h(t, a, s, i), *middle = acts_middle(t, a, i), *concat = acts_concat(t, a, i);
    float *next = acts_h(t, a, s, i + 1), *packed = image_packed_block(t, i);
    run_norm_product(t, k, s, &b->n0, h, t->thin, acts_moments(t, a, i, 0), &t->c0, packed, NULL, middle,
                     &b->n1);
    run_norm(t, k, s->m, &b->n1, middle, t->thin, spaced(t, s->y_spaced, t->thin), acts_moments(t, a, i, 1));
    for (int j = 0; j < t->net->branches; j++) {
        const conv_plan *p = &t->branch[j];
        run_conv(k, s, METER_CONV, &p->forward, spaced(t, s->y_spaced, t->thin),
                 compact(t, concat + p->shape.y_offset, t->wide), packed + p->w, t->params + b->branch[j].b,
                 0);
    }
    run_norm_product(t, k, s, &b->n2, concat, t->wide, acts_moments(t, a, i, 2), &t->c1, packed, h, next,
                     i + 1 < t->net->depth ? NULL : &t->net->last);
}

/* The first h. */
static void run_in(const image_network *t, const cpu_kernels *k, image_view u1, const image_acts *a,
                   const image_spare *s) {
    run_conv(k, s, METER_EDGE, &t->in.forward, u1, compact(t, acts_h(t, a, s, 0), t->thin),
             t->packed + t->in.w, t->params + t->net->in.b, 0);
}

void image_network_forward(const image_network *t, const cpu_kernels *k, image_view u1, image_acts acts,
                           const image_spare *s, float *out) {
    const image_net *net = t->net;
    run_in(t, k, u1, &acts, s);
    for (int i = 0; i < net->depth; i++) run_block(t, k, i, &acts, s);
    image_view y = spaced(t, s->y_spaced, t->thin);
    run_norm(t, k, s->m, &net->last, acts_h(t, &acts, s, net->depth), t->thin, y,
             acts_moments(t, &acts, net->depth, 0));
    run_conv(k, s, METER_EDGE, &t->out.forward, y, compact(t, out, net->out.shape.out), t->packed + t->out.w,
             t->params + net->out.b, 0);
}

/* ---- backward ---- */

/* Norm m in its backward pass: from s->g, its dy. */
static norm_job back_norm_of(const image_return *w, const image_norm *m, float *x, int pad,
                             const float *moments, float *dg) {
    norm_job n = norm_of(w->t, m, x, pad);
    n.mean = moments[0];
    n.scale = moments[1];
    n.dy = w->s->g;
    n.dg = dg;
    n.db = dg ? dg + image_norm_count(m) : NULL;
    n.add = w->accumulate;
    return n;
}

/* First half of a norm's backward pass: y comes back into `y`. */
static norm_job back_norm(const image_return *w, const image_norm *m, float *x, int pad, image_view y,
                          const float *moments, float *dg) {
    double start = meter_begin(w->s->m);
    norm_job n = back_norm_of(w, m, x, pad, moments, dg);
    int width = w->t->net->w;
    for (int i = 0; i < w->t->net->h; i++)
        w->k->image->norm->sums(&n, i * width, width, y.at + (size_t)i * y.row);
    meter_end(w->s->m, METER_NORM_BACK, start, 0);
    return n;
}

/* The same with the product that makes its dy, of a 1x1 convolution's dL/dy = d; y comes back into s->y. */
static norm_job back_product_norm(const image_return *w, const product_plan *p, const float *packed,
                                  const float *d, const image_norm *m, float *x, const float *moments,
                                  float *dg) {
    const image_network *t = w->t;
    const image_kernels *k = w->k->image;
    turns turn = turns_begin(w->s->m);
    norm_job n = back_norm_of(w, m, x, p->in_pad, moments, dg);
    size_t in = (size_t)p->in_pad, out = (size_t)p->out_pad;
    for (int first = 0; first < t->pixels; first += BAND) {
        int count = band_at(t, first);
        fetch_list f = {0};
        fetch_band(t, &f, n.x, NULL, n.pad, first + BAND);
        fetch_band(t, &f, n.g, n.b, n.p_pixel, first + BAND);
        if (n.dg) fetch_band(t, &f, n.dg, n.db, n.p_pixel, first + BAND);
        k->product(count, p->in_pad, p->out, d + (size_t)first * out, out, packed + p->wt, NULL, NULL,
                   n.dy + (size_t)first * in, in, &f);
        turns_add(&turn, &turn.product);
        k->norm->sums(&n, first, count, w->s->y + (size_t)first * in);
        turns_add(&turn, &turn.norm);
    }
    turns_end(&turn, METER_NORM_BACK, METER_PRODUCT_DX, product_flops(t, p));
    return n;
}

/* Second half: dx. */
static void back_norm_dx(const image_return *w, norm_job *n, image_view dx, int add) {
    double start = meter_begin(w->s->m);
    int width = w->t->net->w;
    for (int i = 0; i < w->t->net->h; i++)
        w->k->image->norm->dx(n, i * width, width, dx.at + (size_t)i * dx.row, add);
    meter_end(w->s->m, METER_NORM_BACK, start, 0);
}

static void back_product_dw(const image_return *w, const product_plan *p, const float *y, const float *dy,
                            float *partial) {
    if (!partial) return;
    double start = meter_begin(w->s->m);
    w->k->dense_dw(p->in, p->out_pad, w->t->pixels, y, (size_t)p->in_pad, dy, (size_t)p->out_pad,
                   w->accumulate, partial + p->dw, (size_t)p->out_pad);
    w->k->dense_db(p->out_pad, w->t->pixels, dy, (size_t)p->out_pad, w->accumulate, partial + p->db);
    meter_end(w->s->m, METER_PRODUCT_DW, start, product_flops(w->t, p));
}

static void back_conv_dw(const image_return *w, meter_part part, const conv_plan *p, image_view x,
                         image_view dy, float *partial) {
    double start = meter_begin(w->s->m);
    conv_job c = p->forward;
    c.x = x;
    c.y = dy;
    c.packed = partial + p->dw;
    c.add = w->accumulate;
    c.scratch = w->s->conv;
    w->k->image->conv_dw(&c);
    meter_end(w->s->m, part, start, conv_flops(&c));
}
/* db of a spaced dy of `pad` channels: the zeros between its rows do not matter. */
static void back_conv_db(const image_return *w, meter_part part, image_view dy, int pad, float *db) {
    const image_network *t = w->t;
    double start = meter_begin(w->s->m);
    w->k->dense_db(pad, t->net->h * t->spaced - t->halo, dy.at, (size_t)pad, w->accumulate, db);
    meter_end(w->s->m, part, start, 0);
}

static void back_branches(const image_return *w, const image_residual *b, int i, const float *packed,
                          float *partial) {
    const image_network *t = w->t;
    const image_spare *s = w->s;
    image_view y = spaced(t, s->y_spaced, t->thin), g = spaced(t, s->g_spaced, t->wide);
    for (int j = 0; j < t->net->branches; j++) {
        const conv_plan *p = &t->branch[j];
        image_view dy = g;
        dy.at += p->shape.y_offset;
        run_conv(w->k, s, METER_CONV_DX, &p->backward, dy, compact(t, s->g, t->thin), (float *)packed + p->wt,
                 NULL, j > 0);
    }
    norm_job n = back_norm(w, &b->n1, acts_middle(t, &w->acts, i), t->thin, y,
                           acts_moments(t, &w->acts, i, 1), partial ? partial + t->n1_dg : NULL);
    for (int j = 0; partial && j < t->net->branches; j++) {
        image_view dy = g;
        dy.at += t->branch[j].shape.y_offset;
        back_conv_dw(w, METER_CONV_DW, &t->branch[j], y, dy, partial);
    }
    if (partial) back_conv_db(w, METER_CONV_DW, g, t->wide, partial + t->branch_db);
    back_norm_dx(w, &n, compact(t, s->t, t->thin), 0);
}

/* dh: gradient after block i, becomes that before it. */
static void return_block(const image_return *w, int i) {
    const image_network *t = w->t;
    const image_spare *s = w->s;
    const image_residual *b = &t->net->blocks[i];
    const float *packed = image_packed_block(t, i);
    float *partial = w->partial.head ? w->partial.blocks + (size_t)i * w->partial.block_stride : NULL;
    norm_job n = back_product_norm(w, &t->c1, packed, w->dh, &b->n2, acts_concat(t, &w->acts, i),
                                   acts_moments(t, &w->acts, i, 2), partial ? partial + t->n2_dg : NULL);
    back_product_dw(w, &t->c1, s->y, w->dh, partial);
    back_norm_dx(w, &n, spaced(t, s->g_spaced, t->wide), 0);
    back_branches(w, b, i, packed, partial);
    n = back_product_norm(w, &t->c0, packed, s->t, &b->n0, acts_h(t, &w->acts, s, i),
                          acts_moments(t, &w->acts, i, 0), partial ? partial + t->n0_dg : NULL);
    back_product_dw(w, &t->c0, s->y, s->t, partial);
    back_norm_dx(w, &n, compact(t, w->dh, t->thin), 1);
}

static void return_out(const image_return *w) {
    const image_network *t = w->t;
    const image_net *net = t->net;
    image_view y = spaced(t, w->s->y_spaced, t->thin);
    float *head = w->partial.head;
    run_conv(w->k, w->s, METER_EDGE_DX, &t->out.backward, w->dout, compact(t, w->s->g, t->thin),
             t->packed + t->out.wt, NULL, 0);
    norm_job n = back_norm(w, &net->last, acts_h(t, &w->acts, w->s, net->depth), t->thin, y,
                           acts_moments(t, &w->acts, net->depth, 0), head ? head + t->last_dg : NULL);
    if (head) {
        back_conv_dw(w, METER_EDGE_DW, &t->out, y, w->dout, head);
        back_conv_db(w, METER_EDGE_DW, w->dout, t->edge, head + t->out_db);
    }
    back_norm_dx(w, &n, compact(t, w->dh, t->thin), 0);
}

static void return_in(const image_return *w) {
    const image_network *t = w->t;
    const image_net *net = t->net;
    image_view from = compact(t, w->dh, t->thin), dh = spaced(t, w->s->y_spaced, t->thin);
    if (net->depth > 0) {
        run_in(t, w->k, w->u1, &w->acts, w->s);
        return_block(w, 0);
    }
    double start = meter_begin(w->s->m);
    for (int i = 0; i < net->h; i++)
        for (int j = 0; j < net->w; j++) /* channels of padding stay zero */
            memcpy(dh.at + (size_t)i * dh.row + (size_t)j * dh.pixel,
                   from.at + (size_t)i * from.row + (size_t)j * from.pixel, sizeof(float) * (size_t)net->K);
    meter_end(w->s->m, METER_MOVE, start, 0);
    if (w->partial.head) {
        back_conv_dw(w, METER_EDGE_DW, &t->in, w->u1, dh, w->partial.head);
        back_conv_db(w, METER_EDGE_DW, dh, t->thin, w->partial.head + t->in_db);
    }
    run_conv(w->k, w->s, METER_EDGE_DX, &t->in.backward, dh, compact(t, w->du1, net->in.shape.in),
             t->packed + t->in.wt, NULL, 0);
}

int image_return_steps(const image_network *t) {
    return 1 + (t->net->depth > 0 ? t->net->depth : 1);
}

void image_return_step(const image_return *w, int step) {
    if (step == 0)
        return_out(w);
    else if (step < image_return_steps(w->t) - 1)
        return_block(w, w->t->net->depth - step);
    else
        return_in(w);
}
