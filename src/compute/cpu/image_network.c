#include "compute/cpu/image_network.h"
#include <string.h>

static int round_up(int n, int to) {
    return (n + to - 1) / to * to;
}
static size_t whole_lines(size_t count) {
    return (count + CPU_MAX_VECTOR - 1) / CPU_MAX_VECTOR * CPU_MAX_VECTOR;
}
/* A place of `count` numbers in something that grows. */
static size_t place(size_t *total, size_t count) {
    size_t at = *total;
    *total += whole_lines(count);
    return at;
}

/* ---- plan ---- */

static int units_of(const conv_job *c, int vector, int q) {
    return c->groups * ((c->out + vector / q - 1) / (vector / q));
}
static int steps_of(const conv_job *c, int q) {
    return (c->in + q - 1) / q;
}
/* Time for one pixel, as measured, in thirds of a vector's multiplication: outputs of q > 1 have to be gathered from their
 * lanes; joined groups take a third more, since each input that serves three taps has to be picked. */
static int cost_of(const conv_job *c, int vector, int q) {
    int gathering = q > 1 ? 15 : 0;
    for (int i = q; i > 1; i /= 2) gathering += 9;
    return units_of(c, vector, q) * (3 * 9 * steps_of(c, q) + gathering);
}
static int cost_of_joined(int units, int in) {
    return units * 4 * 9 * in;
}

/* The cheapest kind of vectors. */
static void plan_vectors(conv_job *c, int vector, int join, int in, int out) {
    c->in = in;
    c->out = out;
    c->q = 1;
    for (int q = 2; q <= vector && q < 2 * in; q *= 2)
        if (cost_of(c, vector, q) < cost_of(c, vector, c->q)) c->q = q;
    c->units = units_of(c, vector, c->q);
    c->steps = steps_of(c, c->q);
    int joined = vector / out < join / in ? vector / out : join / in;
    if (joined < 2) return;
    int units = (c->groups + joined - 1) / joined;
    if (cost_of_joined(units, in) >= cost_of(c, vector, c->q)) return;
    c->joined = joined;
    c->q = 1;
    c->units = units;
    c->steps = in;
}

static size_t vectors_count(const conv_job *c, int vector) {
    return (size_t)c->units * 9 * (size_t)c->steps * (size_t)vector;
}

static void plan_conv(conv_plan *p, const conv_shape *s, const cpu_kernels *k, size_t *packed,
                      size_t *partial) {
    int in = s->in / s->groups, out = s->out / s->groups;
    p->shape = *s;
    p->forward = (conv_job){.h = s->h, .w = s->w, .dilation = s->dilation, .groups = s->groups};
    p->backward = p->forward;
    plan_vectors(&p->forward, k->vector, k->image->join, in, out);
    plan_vectors(&p->backward, k->vector, k->image->join, out, in);
    p->w_count = vectors_count(&p->forward, k->vector);
    p->wt_count = vectors_count(&p->backward, k->vector);
    p->w = place(packed, p->w_count);
    p->wt = place(packed, p->wt_count);
    p->dw = place(partial, p->w_count);
}

static void plan_product(product_plan *p, const conv_shape *s, int vector, size_t *packed, size_t *partial) {
    *p = (product_plan){s->in, s->out, round_up(s->in, vector), round_up(s->out, vector), 0, 0, 0, 0, 0};
    p->w = place(packed, (size_t)p->in * (size_t)p->out_pad);
    p->wt = place(packed, (size_t)p->out * (size_t)p->in_pad);
    p->b = place(packed, (size_t)p->out_pad);
    p->dw = place(partial, (size_t)round_up(p->in, CPU_ROWS) * (size_t)p->out_pad);
    p->db = place(partial, (size_t)p->out_pad);
}

static size_t norm_count(const image_norm *m) {
    return (size_t)m->shape.channels * (size_t)(m->shape.per_element ? m->shape.pixels : 1);
}

static void plan_block(image_network *t, const image_residual *b, const cpu_kernels *k) {
    int vector = k->vector;
    size_t *packed = &t->packed_block, *partial = &t->partial_block;
    t->n0_dg = place(partial, 2 * norm_count(&b->n0));
    plan_product(&t->c0, &b->c0.shape, vector, packed, partial);
    t->n1_dg = place(partial, 2 * norm_count(&b->n1));
    for (int i = 0; i < t->net->branches; i++) {
        plan_conv(&t->branch[i], &b->branch[i].shape, k, packed, partial);
        if (b->branch[i].shape.dilation > t->reach) t->reach = b->branch[i].shape.dilation;
    }
    t->branch_db = place(partial, (size_t)t->wide);
    t->n2_dg = place(partial, 2 * norm_count(&b->n2));
    plan_product(&t->c1, &b->c1.shape, vector, packed, partial);
}

void image_network_plan(image_network *t, const image_net *net, const cpu_kernels *k) {
    int vector = k->vector;
    *t = (image_network){.net = net, .vector = vector, .pixels = net->h * net->w, .reach = 1};
    int in = net->in.shape.in, out = net->out.shape.out;
    t->thin = round_up(net->K, vector);
    t->wide = round_up(net->concat, vector);
    t->edge = round_up(in > out ? in : out, vector);
    plan_conv(&t->in, &net->in.shape, k, &t->packed_head, &t->partial_head);
    t->in_db = place(&t->partial_head, (size_t)t->thin);
    t->last_dg = place(&t->partial_head, 2 * norm_count(&net->last));
    plan_conv(&t->out, &net->out.shape, k, &t->packed_head, &t->partial_head);
    t->out_db = place(&t->partial_head, (size_t)t->edge);
    if (net->depth > 0) plan_block(t, net->blocks, k);
    t->spaced = net->w + t->reach;
    t->packed_count = t->packed_head + (size_t)net->depth * t->packed_block;
    t->partial_count = t->partial_head + (size_t)net->depth * t->partial_block;
}

/* ---- packed weights ---- */

/* Packed weights, vector by vector, and where they are among the parameters, (9 taps, in, groups, out). Backward, outputs are
 * inputs and taps are mirrored. */
typedef struct weight_walk {
    const conv_job *c;
    int vector, transposed;
    size_t in, row; /* of a group; groups * out: as in the parameters */
} weight_walk;

typedef struct weight_lanes {
    ptrdiff_t at[CPU_MAX_VECTOR]; /* place of a lane's first weight; -1: no such output */
    int in[CPU_MAX_VECTOR];       /* its input in a step */
} weight_lanes;

static weight_walk walk_of(const conv_plan *p, int vector, int transposed) {
    return (weight_walk){transposed ? &p->backward : &p->forward, vector, transposed, (size_t)p->forward.in,
                         (size_t)p->shape.out};
}

static weight_lanes lanes_of(const weight_walk *k, int unit) {
    const conv_job *c = k->c;
    int width = k->vector / c->q, blocks = (c->out + width - 1) / width;
    weight_lanes lanes;
    for (int l = 0; l < k->vector; l++) {
        int group = c->joined ? unit * c->joined + l / c->out : unit / blocks;
        int o = c->joined ? l % c->out : unit % blocks * width + l / c->q, in = l % c->q;
        int absent = o >= c->out || group >= c->groups || (c->joined && l >= c->joined * c->out);
        lanes.in[l] = in;
        lanes.at[l] = absent          ? -1
                      : k->transposed ? (ptrdiff_t)((size_t)o * k->row) + group * c->in + in
                                      : (ptrdiff_t)((size_t)in * k->row) + group * c->out + o;
    }
    return lanes;
}

/* places[l]: where lane l of vector `index` of a unit is, or -1. */
static void places_of(const weight_walk *k, const weight_lanes *lanes, int index, ptrdiff_t *places) {
    const conv_job *c = k->c;
    int column = index % 3, step = index / 3 % c->steps, row = index / 3 / c->steps, tap = row * 3 + column;
    size_t start = (size_t)(k->transposed ? 8 - tap : tap) * k->in * k->row +
                   (size_t)(step * c->q) * (k->transposed ? 1 : k->row);
    for (int l = 0; l < k->vector; l++)
        places[l] =
            lanes->at[l] < 0 || step * c->q + lanes->in[l] >= c->in ? -1 : (ptrdiff_t)start + lanes->at[l];
}

static void pack_conv(const image_network *t, const conv_plan *p, const image_conv *c, float *packed,
                      int transposed) {
    weight_walk walk = walk_of(p, t->vector, transposed);
    const float *w = t->params + c->w;
    float *to = packed + (transposed ? p->wt : p->w);
    for (int unit = 0; unit < walk.c->units; unit++) {
        weight_lanes lanes = lanes_of(&walk, unit);
        for (int i = 0; i < 9 * walk.c->steps; i++, to += t->vector) {
            ptrdiff_t places[CPU_MAX_VECTOR];
            places_of(&walk, &lanes, i, places);
            for (int l = 0; l < t->vector; l++) to[l] = places[l] < 0 ? 0 : w[places[l]];
        }
    }
}

/* grad += packed gradients of weights. */
static void unpack_conv(const image_network *t, const conv_plan *p, const float *packed, float *grad) {
    weight_walk walk = walk_of(p, t->vector, 0);
    for (int unit = 0; unit < walk.c->units; unit++) {
        weight_lanes lanes = lanes_of(&walk, unit);
        for (int i = 0; i < 9 * walk.c->steps; i++, packed += t->vector) {
            ptrdiff_t places[CPU_MAX_VECTOR];
            places_of(&walk, &lanes, i, places);
            for (int l = 0; l < t->vector; l++)
                if (places[l] >= 0) grad[places[l]] += packed[l];
        }
    }
}

static void pack_product(const image_network *t, const product_plan *p, const image_conv *c, float *packed) {
    const float *w = t->params + c->w, *b = t->params + c->b;
    size_t in = (size_t)p->in, out = (size_t)p->out, in_pad = (size_t)p->in_pad, out_pad = (size_t)p->out_pad;
    memset(packed + p->w, 0, sizeof(float) * in * out_pad);
    memset(packed + p->wt, 0, sizeof(float) * out * in_pad);
    memset(packed + p->b, 0, sizeof(float) * out_pad);
    memcpy(packed + p->b, b, sizeof(float) * out);
    for (size_t i = 0; i < in; i++)
        for (size_t o = 0; o < out; o++)
            packed[p->w + i * out_pad + o] = packed[p->wt + o * in_pad + i] = w[i * out + o];
}

static float *packed_block(const image_network *t, int block) {
    return t->packed + t->packed_head + (size_t)block * t->packed_block;
}

void image_network_pack(const image_network *t, int part, int backward) {
    if (part == 0) {
        for (int transposed = 0; transposed <= backward; transposed++) {
            pack_conv(t, &t->in, &t->net->in, t->packed, transposed);
            pack_conv(t, &t->out, &t->net->out, t->packed, transposed);
        }
        return;
    }
    const image_residual *b = &t->net->blocks[part - 1];
    float *packed = packed_block(t, part - 1);
    pack_product(t, &t->c0, &b->c0, packed);
    for (int i = 0; i < t->net->branches; i++)
        for (int transposed = 0; transposed <= backward; transposed++)
            pack_conv(t, &t->branch[i], &b->branch[i], packed, transposed);
    pack_product(t, &t->c1, &b->c1, packed);
}

/* ---- images ---- */

/* Products work on whole tiles of rows, and vectors may reach beyond the last pixel. */
static size_t compact_count(const image_network *t, int pad) {
    return whole_lines((size_t)(t->pixels + CPU_ROWS) * (size_t)pad + 2 * CPU_MAX_VECTOR);
}
static size_t spaced_count(const image_network *t, int pad) {
    return whole_lines((size_t)(t->net->h * t->spaced + t->reach) * (size_t)pad + 2 * CPU_MAX_VECTOR);
}
static image_view compact(const image_network *t, float *at, int pad) {
    return (image_view){at, (size_t)t->net->w * (size_t)pad, (size_t)pad};
}
static image_view spaced(const image_network *t, float *at, int pad) {
    return (image_view){at + (size_t)t->reach * (size_t)pad, (size_t)t->spaced * (size_t)pad, (size_t)pad};
}

static size_t block_count(const image_network *t) {
    return 2 * compact_count(t, t->thin) + compact_count(t, t->wide);
}
size_t image_acts_count(const image_network *t, int all) {
    size_t blocks = all ? (size_t)t->net->depth : 1;
    return blocks * block_count(t) + compact_count(t, t->thin) +
           whole_lines(2 * (3 * (size_t)t->net->depth + 1));
}
/* Input of residual block i (i = depth: the last h), what its first product gives, and what its branches give. */
static float *acts_h(const image_network *t, const image_acts *a, int i) {
    return a->at + (a->all ? (size_t)i : 0) * block_count(t);
}
static float *acts_middle(const image_network *t, const image_acts *a, int i) {
    return acts_h(t, a, i) + compact_count(t, t->thin);
}
static float *acts_concat(const image_network *t, const image_acts *a, int i) {
    return acts_h(t, a, i) + 2 * compact_count(t, t->thin);
}
/* Mean and scale of norm `index` of block i. */
static float *acts_moments(const image_network *t, const image_acts *a, int i, int index) {
    return a->at + (a->all ? (size_t)t->net->depth : 1) * block_count(t) + compact_count(t, t->thin) +
           2 * (3 * (size_t)i + (size_t)index);
}

static int widest(const image_network *t) {
    return t->wide > t->thin ? t->wide : t->thin;
}
size_t image_spare_count(const image_network *t) {
    return 2 * compact_count(t, widest(t)) + 2 * compact_count(t, t->thin) + spaced_count(t, t->thin) +
           spaced_count(t, t->wide);
}
image_spare image_spare_place(const image_network *t, float *at) {
    image_spare s;
    s.y_spaced = at;
    s.g_spaced = s.y_spaced + spaced_count(t, t->thin);
    s.y = s.g_spaced + spaced_count(t, t->wide);
    s.g = s.y + compact_count(t, widest(t));
    s.dh = s.g + compact_count(t, widest(t));
    s.t = s.dh + compact_count(t, t->thin);
    memset(at, 0, sizeof(float) * (size_t)(s.y - at));
    return s;
}
size_t image_edge_count(const image_network *t) {
    return spaced_count(t, t->edge);
}
image_view image_edge_view(const image_network *t, float *at) {
    return spaced(t, at, t->edge);
}

/* ---- running it ---- */

static void run_conv(const cpu_kernels *k, const conv_job *sizes, image_view x, image_view y, float *w,
                     const float *b, int add) {
    conv_job c = *sizes;
    c.x = x;
    c.y = y;
    c.packed = w;
    c.b = b;
    c.add = add;
    k->image->conv(&c);
}

/* Norm m of x (compact, `pad` channels); a row is one run where nothing lies between its pixels. */
static norm_job norm_of(const image_network *t, const image_norm *m, float *x, int pad) {
    size_t channels = (size_t)m->shape.channels, width = (size_t)t->net->w;
    int whole_rows = m->shape.per_element && m->shape.channels == pad;
    return (norm_job){.rows = t->net->h,
                      .runs = whole_rows ? 1 : t->net->w,
                      .length = (int)(whole_rows ? width * channels : channels),
                      .p_row = m->shape.per_element ? width * channels : 0,
                      .p_run = m->shape.per_element ? channels : 0,
                      .slope = (float)m->shape.slope,
                      .g = t->params + m->g,
                      .b = t->params + m->b,
                      .x = compact(t, x, pad)};
}

/* y = norm(x), where x has just been made; its moments are left for the backward pass. */
static void run_norm(const image_network *t, const cpu_kernels *k, const image_norm *m, float *x, int pad,
                     image_view y, float *moments) {
    norm_job n = norm_of(t, m, x, pad);
    n.y = y;
    k->image->moments(&n, m->shape.epsilon);
    moments[0] = n.mean;
    moments[1] = n.scale;
    k->image->normalise(&n);
}

static void run_block(const image_network *t, const cpu_kernels *k, int i, const image_acts *a,
                      const image_spare *s) {
    const image_residual *b = &t->net->blocks[i];
    float *h = acts_h(t, a, i), *middle = acts_middle(t, a, i), *concat = acts_concat(t, a, i);
    float *next = a->all ? acts_h(t, a, i + 1) : h, *packed = packed_block(t, i);
    size_t thin = (size_t)t->thin, wide = (size_t)t->wide;
    run_norm(t, k, &b->n0, h, t->thin, compact(t, s->y, t->thin), acts_moments(t, a, i, 0));
    k->dense(t->pixels, t->thin, t->c0.in, s->y, thin, packed + t->c0.w, thin, packed + t->c0.b, 1, middle,
             thin);
    run_norm(t, k, &b->n1, middle, t->thin, spaced(t, s->y_spaced, t->thin), acts_moments(t, a, i, 1));
    for (int j = 0; j < t->net->branches; j++) {
        const conv_plan *p = &t->branch[j];
        run_conv(k, &p->forward, spaced(t, s->y_spaced, t->thin),
                 compact(t, concat + p->shape.y_offset, t->wide), packed + p->w, t->params + b->branch[j].b,
                 0);
    }
    run_norm(t, k, &b->n2, concat, t->wide, compact(t, s->y, t->wide), acts_moments(t, a, i, 2));
    k->image->product_plus(t->pixels, t->thin, t->c1.in, s->y, wide, packed + t->c1.w, packed + t->c1.b, h,
                           next, thin);
}

void image_network_forward(const image_network *t, const cpu_kernels *k, image_view u1, image_acts acts,
                           const image_spare *s, float *out) {
    const image_net *net = t->net;
    run_conv(k, &t->in.forward, u1, compact(t, acts_h(t, &acts, 0), t->thin), t->packed + t->in.w,
             t->params + net->in.b, 0);
    for (int i = 0; i < net->depth; i++) run_block(t, k, i, &acts, s);
    image_view y = spaced(t, s->y_spaced, t->thin);
    run_norm(t, k, &net->last, acts_h(t, &acts, net->depth), t->thin, y,
             acts_moments(t, &acts, net->depth, 0));
    run_conv(k, &t->out.forward, y, compact(t, out, net->out.shape.out), t->packed + t->out.w,
             t->params + net->out.b, 0);
}

/* ---- backward ---- */

#define PRODUCT_PART (2 * CPU_ROWS) /* pixels of a product between two looks ahead */

typedef struct backward {
    const image_network *t;
    const cpu_kernels *k;
    const image_acts *a;
    const image_spare *s;
    float *partial; /* NULL: no gradients of parameters wanted */
    int accumulate;
} backward;

/* First half of a norm's backward pass: from s->g, its dy; y comes back into `y`. */
static norm_job back_norm(const backward *w, const image_norm *m, float *x, int pad, image_view y,
                          const float *moments, float *dg) {
    norm_job n = norm_of(w->t, m, x, pad);
    n.mean = moments[0];
    n.scale = moments[1];
    n.y = y;
    n.dy = compact(w->t, w->s->g, pad);
    n.dg = dg;
    n.db = dg ? dg + norm_count(m) : NULL;
    n.add = w->accumulate;
    w->k->image->norm_sums(&n);
    return n;
}

/* Second half: dx. */
static void back_norm_dx(const backward *w, norm_job *n, image_view dx, int add) {
    n->dx = dx;
    n->dx_add = add;
    w->k->image->norm_dx(n);
}

/* s->g from dy; `ahead` (of the same size) is asked for in between. */
static void back_product(const backward *w, const product_plan *p, const float *packed, const float *dy,
                         const float *ahead) {
    int pixels = w->t->pixels, parts = (pixels + PRODUCT_PART - 1) / PRODUCT_PART;
    size_t in_pad = (size_t)p->in_pad, out_pad = (size_t)p->out_pad;
    for (int i = 0; i < parts; i++) {
        size_t at = (size_t)i * PRODUCT_PART;
        int rows = pixels - (int)at < PRODUCT_PART ? pixels - (int)at : PRODUCT_PART;
        cpu_prefetch(ahead, (size_t)pixels * in_pad, (size_t)i, (size_t)parts);
        w->k->dense_dx(rows, p->in_pad, p->out, dy + at * out_pad, out_pad, packed + p->wt, in_pad, NULL, 1,
                       w->s->g + at * in_pad, in_pad);
    }
}
static void back_product_dw(const backward *w, const product_plan *p, const float *y, const float *dy,
                            float *partial) {
    if (!partial) return;
    w->k->dense_dw(p->in, p->out_pad, w->t->pixels, y, (size_t)p->in_pad, dy, (size_t)p->out_pad,
                   w->accumulate, partial + p->dw, (size_t)p->out_pad);
    w->k->dense_db(p->out_pad, w->t->pixels, dy, (size_t)p->out_pad, w->accumulate, partial + p->db);
}

static void back_conv_dw(const backward *w, const conv_plan *p, image_view x, image_view dy, float *partial) {
    conv_job c = p->forward;
    c.x = x;
    c.y = dy;
    c.packed = partial + p->dw;
    c.add = w->accumulate;
    w->k->image->conv_dw(&c);
}
/* db of a spaced dy of `pad` channels: the zeros between its rows do not matter. */
static void back_conv_db(const backward *w, image_view dy, int pad, float *db) {
    const image_network *t = w->t;
    w->k->dense_db(pad, t->net->h * t->spaced - t->reach, dy.at, (size_t)pad, w->accumulate, db);
}

static void back_branches(const backward *w, const image_residual *b, int i, const float *packed,
                          float *partial) {
    const image_network *t = w->t;
    const image_spare *s = w->s;
    image_view y = spaced(t, s->y_spaced, t->thin), g = spaced(t, s->g_spaced, t->wide);
    for (int j = 0; j < t->net->branches; j++) {
        const conv_plan *p = &t->branch[j];
        image_view dy = g;
        dy.at += p->shape.y_offset;
        conv_job ahead = p->backward;
        if (j == t->net->branches - 1) {
            ahead.ahead = acts_middle(t, w->a, i);
            ahead.ahead_count = (size_t)t->pixels * (size_t)t->thin;
        }
        run_conv(w->k, &ahead, dy, compact(t, s->g, t->thin), (float *)packed + p->wt, NULL, j > 0);
    }
    norm_job n = back_norm(w, &b->n1, acts_middle(t, w->a, i), t->thin, y, acts_moments(t, w->a, i, 1),
                           partial ? partial + t->n1_dg : NULL);
    for (int j = 0; partial && j < t->net->branches; j++) {
        image_view dy = g;
        dy.at += t->branch[j].shape.y_offset;
        back_conv_dw(w, &t->branch[j], y, dy, partial);
    }
    if (partial) back_conv_db(w, g, t->wide, partial + t->branch_db);
    back_norm_dx(w, &n, compact(t, s->t, t->thin), 0);
}

/* s->dh: gradient after block i, becomes that before it. */
static void back_block(const backward *w, int i) {
    const image_network *t = w->t;
    const image_spare *s = w->s;
    const image_residual *b = &t->net->blocks[i];
    const float *packed = packed_block(t, i);
    float *partial = w->partial ? w->partial + t->partial_head + (size_t)i * t->partial_block : NULL;
    back_product(w, &t->c1, packed, s->dh, acts_concat(t, w->a, i));
    norm_job n = back_norm(w, &b->n2, acts_concat(t, w->a, i), t->wide, compact(t, s->y, t->wide),
                           acts_moments(t, w->a, i, 2), partial ? partial + t->n2_dg : NULL);
    back_product_dw(w, &t->c1, s->y, s->dh, partial);
    back_norm_dx(w, &n, spaced(t, s->g_spaced, t->wide), 0);
    back_branches(w, b, i, packed, partial);
    back_product(w, &t->c0, packed, s->t, acts_h(t, w->a, i));
    n = back_norm(w, &b->n0, acts_h(t, w->a, i), t->thin, compact(t, s->y, t->thin),
                  acts_moments(t, w->a, i, 0), partial ? partial + t->n0_dg : NULL);
    back_product_dw(w, &t->c0, s->y, s->t, partial);
    back_norm_dx(w, &n, compact(t, s->dh, t->thin), 1);
}

void image_network_backward(const image_network *t, const cpu_kernels *k, image_view u1, image_acts acts,
                            const image_spare *s, image_view dout, float *du1, float *partial,
                            int accumulate) {
    const image_net *net = t->net;
    backward w = {t, k, &acts, s, partial, accumulate};
    image_view y = spaced(t, s->y_spaced, t->thin);
    run_conv(k, &t->out.backward, dout, compact(t, s->g, t->thin), t->packed + t->out.wt, NULL, 0);
    norm_job n = back_norm(&w, &net->last, acts_h(t, &acts, net->depth), t->thin, y,
                           acts_moments(t, &acts, net->depth, 0), partial ? partial + t->last_dg : NULL);
    if (partial) {
        back_conv_dw(&w, &t->out, y, dout, partial);
        back_conv_db(&w, dout, t->edge, partial + t->out_db);
    }
    back_norm_dx(&w, &n, compact(t, s->dh, t->thin), 0);
    for (int i = net->depth - 1; i >= 0; i--) back_block(&w, i);
    for (int i = 0; i < net->h; i++) /* dh, spaced */
        memcpy(y.at + (size_t)i * y.row, s->dh + (size_t)i * (size_t)net->w * (size_t)t->thin,
               sizeof(float) * (size_t)net->w * (size_t)t->thin);
    if (partial) {
        back_conv_dw(&w, &t->in, u1, y, partial);
        back_conv_db(&w, y, t->thin, partial + t->in_db);
    }
    run_conv(k, &t->in.backward, y, compact(t, du1, net->in.shape.in), t->packed + t->in.wt, NULL, 0);
}

/* ---- sums of partial gradients ---- */

typedef struct reduction {
    const image_network *t;
    const cpu_kernels *k;
    float *partial;
    size_t stride;
    int slices;
    float *grad;
} reduction;

static void reduce_plain(const reduction *r, size_t to, size_t from, size_t count) {
    r->k->add_parts(r->grad + to, r->partial + from, r->stride, r->slices, count);
}
static void reduce_norm(const reduction *r, const image_norm *m, size_t from) {
    reduce_plain(r, m->g, from, norm_count(m));
    reduce_plain(r, m->b, from + norm_count(m), norm_count(m));
}
static void reduce_product(const reduction *r, const image_conv *c, const product_plan *p, size_t block) {
    for (size_t i = 0; i < (size_t)p->in; i++)
        reduce_plain(r, c->w + i * (size_t)p->out, block + p->dw + i * (size_t)p->out_pad, (size_t)p->out);
    reduce_plain(r, c->b, block + p->db, (size_t)p->out);
}
static void reduce_conv(const reduction *r, const image_conv *c, const conv_plan *p, size_t block,
                        size_t db) {
    float *first = r->partial + block + p->dw;
    r->k->add_parts(first, first + r->stride, r->stride, r->slices - 1, p->w_count);
    unpack_conv(r->t, p, first, r->grad + c->w);
    reduce_plain(r, c->b, db, (size_t)p->shape.out);
}

enum { BLOCK_TASKS = 4 };

int image_reduce_tasks(const image_network *t) {
    return 1 + BLOCK_TASKS * t->net->depth;
}

void image_network_reduce(const image_network *t, const cpu_kernels *k, int task, float *partial,
                          size_t stride, int slices, float *grad) {
    const image_net *net = t->net;
    reduction r = {t, k, partial, stride, slices, grad};
    if (task == 0) {
        reduce_conv(&r, &net->in, &t->in, 0, t->in_db);
        reduce_norm(&r, &net->last, t->last_dg);
        reduce_conv(&r, &net->out, &t->out, 0, t->out_db);
        return;
    }
    int part = (task - 1) % BLOCK_TASKS, i = (task - 1) / BLOCK_TASKS;
    const image_residual *b = &net->blocks[i];
    size_t block = t->partial_head + (size_t)i * t->partial_block;
    if (part == 0) reduce_norm(&r, &b->n0, block + t->n0_dg);
    if (part == 1) reduce_norm(&r, &b->n1, block + t->n1_dg);
    if (part == 2) reduce_norm(&r, &b->n2, block + t->n2_dg);
    if (part < 3) return;
    reduce_product(&r, &b->c0, &t->c0, block);
    reduce_product(&r, &b->c1, &t->c1, block);
    for (int j = 0; j < net->branches; j++)
        reduce_conv(&r, &b->branch[j], &t->branch[j], block,
                    block + t->branch_db + (size_t)t->branch[j].shape.y_offset);
}
