/* Image networks: weights as the kernels want them, and gradients back from there. */
#include "compute/cpu/image_network.h"
#include "compute/cpu/winograd.h"
#include <string.h>

/* ---- packed weights ---- */

/* Packed weights, vector by vector, and where they are among the parameters, (9 taps, in, groups, out).
 * Backward, outputs are inputs and taps are mirrored. */
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
        int group = c->joined       ? unit * c->joined + l / c->out
                    : c->bundle > 1 ? unit * c->bundle + l % c->bundle
                                    : unit / blocks;
        int o = c->joined ? l % c->out : c->bundle > 1 ? l / c->bundle : unit % blocks * width + l / c->q;
        int in = l % c->q;
        int absent = o >= c->out || group >= c->groups || (c->joined && l >= c->joined * c->out);
        lanes.in[l] = in;
        lanes.at[l] = absent          ? -1
                      : k->transposed ? (ptrdiff_t)((size_t)o * k->row) + group * c->in + in
                                      : (ptrdiff_t)((size_t)in * k->row) + group * c->out + o;
    }
    return lanes;
}

/* places[l]: where lane l of a tap and step of a unit is, or -1. */
static void places_of(const weight_walk *k, const weight_lanes *lanes, int row, int column, int step,
                      ptrdiff_t *places) {
    const conv_job *c = k->c;
    int tap = row * 3 + column;
    size_t start = (size_t)(k->transposed ? 8 - tap : tap) * k->in * k->row +
                   (size_t)(step * c->q) * (k->transposed ? 1 : k->row);
    for (int l = 0; l < k->vector; l++)
        places[l] =
            lanes->at[l] < 0 || step * c->q + lanes->in[l] >= c->in ? -1 : (ptrdiff_t)start + lanes->at[l];
}

/* Where three taps of a row are in packed weights: as they are, or the first of their points. */
static size_t taps_at(const weight_walk *k, int row, int step) {
    const conv_job *c = k->c;
    return (size_t)(c->strip ? step * 3 + row : (row * c->steps + step) * 3) * (size_t)k->vector;
}
static size_t unit_count(const weight_walk *k) {
    return (size_t)conv_unit_vectors(k->c) * (size_t)k->vector;
}
/* From one point to the next. */
static size_t point_count(const weight_walk *k) {
    return (size_t)(3 * k->c->steps) * (size_t)k->vector;
}

static void put_taps(const weight_walk *k, float taps[3][CPU_MAX_VECTOR], float *to) {
    if (!k->c->strip) {
        for (int i = 0; i < 3; i++) memcpy(to + i * k->vector, taps[i], sizeof(float) * (size_t)k->vector);
        return;
    }
    for (int p = 0; p < WINOGRAD_POINTS; p++, to += point_count(k)) {
        const float *g = winograd_weights[p];
        for (int l = 0; l < k->vector; l++) to[l] = g[0] * taps[0][l] + g[1] * taps[1][l] + g[2] * taps[2][l];
    }
}
static void get_taps(const weight_walk *k, const float *from, float taps[3][CPU_MAX_VECTOR]) {
    for (int i = 0; i < 3; i++)
        for (int l = 0; l < k->vector; l++) {
            taps[i][l] = k->c->strip ? 0 : from[i * k->vector + l];
            for (int p = 0; k->c->strip && p < WINOGRAD_POINTS; p++)
                taps[i][l] += winograd_weights[p][i] * from[(size_t)p * point_count(k) + (size_t)l];
        }
}

static void pack_conv(const image_network *t, const conv_plan *p, const image_conv *c, float *packed,
                      int transposed) {
    weight_walk walk = walk_of(p, t->vector, transposed);
    const float *w = t->params + c->w;
    float *to = packed + (transposed ? p->wt : p->w);
    for (int unit = 0; unit < walk.c->units; unit++, to += unit_count(&walk)) {
        weight_lanes lanes = lanes_of(&walk, unit);
        for (int i = 0; i < 3 * walk.c->steps; i++) {
            int row = i / walk.c->steps, step = i % walk.c->steps;
            float taps[3][CPU_MAX_VECTOR];
            for (int column = 0; column < 3; column++) {
                ptrdiff_t places[CPU_MAX_VECTOR];
                places_of(&walk, &lanes, row, column, step, places);
                for (int l = 0; l < t->vector; l++) taps[column][l] = places[l] < 0 ? 0 : w[places[l]];
            }
            put_taps(&walk, taps, to + taps_at(&walk, row, step));
        }
    }
}

/* grad += packed gradients of weights. */
static void unpack_conv(const image_network *t, const conv_plan *p, const float *packed, float *grad) {
    weight_walk walk = walk_of(p, t->vector, 0);
    for (int unit = 0; unit < walk.c->units; unit++, packed += unit_count(&walk)) {
        weight_lanes lanes = lanes_of(&walk, unit);
        for (int i = 0; i < 3 * walk.c->steps; i++) {
            int row = i / walk.c->steps, step = i % walk.c->steps;
            float taps[3][CPU_MAX_VECTOR];
            get_taps(&walk, packed + taps_at(&walk, row, step), taps);
            for (int column = 0; column < 3; column++) {
                ptrdiff_t places[CPU_MAX_VECTOR];
                places_of(&walk, &lanes, row, column, step, places);
                for (int l = 0; l < t->vector; l++)
                    if (places[l] >= 0) grad[places[l]] += taps[column][l];
            }
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

float *image_packed_block(const image_network *t, int block) {
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
    float *packed = image_packed_block(t, part - 1);
    pack_product(t, &t->c0, &b->c0, packed);
    for (int i = 0; i < t->net->branches; i++)
        for (int transposed = 0; transposed <= backward; transposed++)
            pack_conv(t, &t->branch[i], &b->branch[i], packed, transposed);
    pack_product(t, &t->c1, &b->c1, packed);
}

/* ---- sums of partial gradients ---- */

/* A walk over the sums of a step, each of which is one or more tasks: `task` counts down to the one that is
 * to be done, `count` counts all. */
typedef struct reduction {
    const image_network *t;
    const cpu_kernels *k;
    size_t stride;
    int slices;
    float *grad;
    int task, count;
} reduction;

/* Whether the wanted task is among the next `tasks`; its number among them is then r->task. */
static int reached(reduction *r, int tasks) {
    int here = r->task >= 0 && r->task < tasks;
    r->count += tasks;
    if (!here) r->task -= tasks;
    return here;
}
static void passed(reduction *r) {
    r->task = -1;
}

static void reduce_plain(const reduction *r, size_t to, const float *from, size_t count) {
    r->k->add_parts(r->grad + to, from, r->stride, r->slices, count);
}

/* In ranges: the parameters of a norm are many where each element has its own. */
static void reduce_norm(reduction *r, const image_norm *m, const float *from) {
    const size_t range = 8192;
    size_t count = image_norm_count(m);
    if (!reached(r, (int)((count + range - 1) / range))) return;
    size_t at = (size_t)r->task * range, here = count - at < range ? count - at : range;
    reduce_plain(r, m->g + at, from + at, here);
    reduce_plain(r, m->b + at, from + count + at, here);
    passed(r);
}
static void reduce_product(reduction *r, const image_conv *c, const product_plan *p, const float *block) {
    if (!reached(r, 1)) return;
    for (size_t i = 0; i < (size_t)p->in; i++)
        reduce_plain(r, c->w + i * (size_t)p->out, block + p->dw + i * (size_t)p->out_pad, (size_t)p->out);
    reduce_plain(r, c->b, block + p->db, (size_t)p->out);
    passed(r);
}
static void reduce_conv(reduction *r, const image_conv *c, const conv_plan *p, float *dw, const float *db) {
    if (!reached(r, 1)) return;
    r->k->add_parts(dw, dw + r->stride, r->stride, r->slices - 1, p->w_count);
    unpack_conv(r->t, p, dw, r->grad + c->w);
    reduce_plain(r, c->b, db, (size_t)p->shape.out);
    passed(r);
}

static void reduce_block(reduction *r, int i, const image_partial *first) {
    const image_network *t = r->t;
    const image_residual *b = &t->net->blocks[i];
    float *block = first->blocks + (size_t)i * first->block_stride;
    reduce_norm(r, &b->n2, block + t->n2_dg);
    reduce_norm(r, &b->n0, block + t->n0_dg);
    reduce_norm(r, &b->n1, block + t->n1_dg);
    reduce_product(r, &b->c0, &t->c0, block);
    reduce_product(r, &b->c1, &t->c1, block);
    for (int j = 0; j < t->net->branches; j++)
        reduce_conv(r, &b->branch[j], &t->branch[j], block + t->branch[j].dw,
                    block + t->branch_db + (size_t)t->branch[j].shape.y_offset);
}

static void reduce_step(reduction *r, int step, const image_partial *first) {
    const image_network *t = r->t;
    const image_net *net = t->net;
    float *head = first->head;
    if (step == 0) {
        reduce_norm(r, &net->last, head + t->last_dg);
        reduce_conv(r, &net->out, &t->out, head + t->out.dw, head + t->out_db);
        return;
    }
    if (net->depth > 0) reduce_block(r, net->depth - step, first);
    if (step == image_return_steps(t) - 1) reduce_conv(r, &net->in, &t->in, head + t->in.dw, head + t->in_db);
}

int image_reduce_tasks(const image_network *t, int step) {
    static float none[1];
    reduction r = {.t = t, .task = -1};
    reduce_step(&r, step, &(image_partial){none, none, 0});
    return r.count;
}

void image_network_reduce(const image_network *t, const cpu_kernels *k, int step, int task,
                          const image_partial *first, size_t stride, int slices, float *grad) {
    reduction r = {t, k, stride, slices, grad, task, 0};
    reduce_step(&r, step, first);
}
