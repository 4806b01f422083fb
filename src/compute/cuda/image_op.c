#include "compute/cuda/image_op.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

#define SLOT 8
#define TILE 8 /* outputs */

/* Of convolution c the weight from input i to output o, or -1. */
static int32_t weight_at(const image_conv *c, int tap, int i, int o) {
    const conv_shape *s = &c->shape;
    int gi = s->in / s->groups, go = s->out / s->groups, own = o - s->y_offset;
    if (own < 0 || own >= s->out || i >= s->in || i / gi != own / go) return -1;
    return (int32_t)(c->w + ((size_t)tap * (size_t)gi + (size_t)(i % gi)) * (size_t)s->out + (size_t)own);
}

/* The same from what an operator reads to what it gives. */
static int32_t op_weight(const image_op *op, const image_conv *c, int tap, int read, int given) {
    return op->backward ? weight_at(c, tap, given, read) : weight_at(c, tap, read, given);
}

static int needs(const image_op *op, const image_conv *c, int tap, int slot, int channel, int count) {
    for (int i = 0; i < SLOT; i++)
        for (int o = 0; o < count; o++)
            if (op_weight(op, c, tap, slot * SLOT + i, channel + o) >= 0) return 1;
    return 0;
}

static int radius(const conv_shape *s) {
    return s->kernel / 2 * s->dilation;
}

static int shift_of(const image_op *op, const conv_shape *s, int tap) {
    int half = s->kernel / 2, row = op_row(op->w, op->halo);
    int shift = (tap / s->kernel - half) * s->dilation * row + (tap % s->kernel - half) * s->dilation;
    return op->backward ? -shift : shift;
}

/* The slots of a set; `to` may be NULL. */
static int list_slots(const image_op *op, const image_conv *convs, int count, int channel, op_slot *to) {
    int found = 0;
    for (int k = 0; k < count; k++)
        for (int tap = 0; tap < convs[k].shape.kernel * convs[k].shape.kernel; tap++)
            for (int slot = 0; slot < op->in / SLOT; slot++) {
                if (!needs(op, &convs[k], tap, slot, channel, op->together * TILE)) continue;
                if (to) to[found] = (op_slot){shift_of(op, &convs[k].shape, tap), slot * SLOT, k, tap};
                found++;
            }
    return found;
}

static int by_steps(const void *a, const void *b) {
    const op_set *x = a, *y = b;
    return x->steps != y->steps ? y->steps - x->steps : x->channel - y->channel;
}

static jf_status make_sets(const device *d, image_op *op, const image_conv *convs, int count) {
    int width = op->together * TILE;
    op->sets = (op->out + width - 1) / width;
    JF_TRY(MEM_NEW(d->ctx, &op->set, (size_t)op->sets));
    for (int i = 0; i < op->sets; i++) {
        op_set *s = &op->set[i];
        s->channel = i * width;
        s->steps = (list_slots(op, convs, count, s->channel, NULL) + 1) / 2;
    }
    qsort(op->set, (size_t)op->sets, sizeof *op->set, by_steps);
    for (int i = 0; i < op->sets; i++) {
        op->set[i].step = op->steps;
        op->set[i].tile = op->tiles;
        op->steps += op->set[i].steps;
        op->tiles += op->set[i].steps * op->together;
    }
    return JF_OK;
}

/* Of an odd number of slots the last step has a second one without weights. */
static jf_status make_slots(const device *d, image_op *op, const image_conv *convs, int count) {
    JF_TRY(MEM_NEW(d->ctx, &op->slot, 2 * (size_t)op->steps));
    for (int i = 0; i < op->sets; i++) {
        op_slot *at = op->slot + 2 * op->set[i].step;
        int found = list_slots(op, convs, count, op->set[i].channel, at);
        if (found % 2) at[found] = (op_slot){0, 0, -1, 0};
    }
    return JF_OK;
}

static jf_status make_gradients(const device *d, image_op *op) {
    int tiles = (op->out + TILE - 1) / TILE;
    JF_TRY(MEM_NEW(d->ctx, &op->gradient, (size_t)(op->tiles + tiles)));
    for (int i = 0; i < op->sets; i++)
        for (int step = 0; step < op->set[i].steps; step++)
            for (int k = 0; k < op->together; k++)
                op->gradient[op->gradients++] =
                    (op_gradient){op->set[i].step + step, op->set[i].channel + k * TILE};
    for (int i = 0; i < tiles; i++) op->gradient[op->gradients++] = (op_gradient){-1, i * TILE};
    return JF_OK;
}

static jf_status send_tables(device *d, image_op *op) {
    size_t count = 4 * (size_t)op->sets + 4 * (size_t)op->steps + 2 * (size_t)op->gradients;
    int32_t *all, *at;
    JF_TRY(MEM_NEW(d->ctx, &all, count));
    at = all;
    for (int i = 0; i < op->sets; i++, at += 4) memcpy(at, &op->set[i], 4 * sizeof *at);
    for (int i = 0; i < 2 * op->steps; i++) *at++ = op->slot[i].shift, *at++ = op->slot[i].channel;
    for (int i = 0; i < op->gradients; i++) *at++ = op->gradient[i].step, *at++ = op->gradient[i].channel;
    jf_status status = d->kind->alloc_map(d, &op->tables, all, count);
    free(all);
    return status;
}

jf_status op_create(device *d, image_op *op, const image_conv *convs, int count, int backward, int together) {
    const conv_shape *s = &convs[0].shape;
    int read = backward ? s->y_channels : s->in;
    *op = (image_op){.h = s->h, .w = s->w, .backward = backward, .together = together};
    op->in = (read + SLOT - 1) / SLOT * SLOT;
    op->out = backward ? s->in : s->y_channels;
    for (int i = 0; i < count; i++)
        if (radius(&convs[i].shape) > op->halo) op->halo = radius(&convs[i].shape);
    JF_TRY(make_sets(d, op, convs, count));
    JF_TRY(make_slots(d, op, convs, count));
    if (!backward) JF_TRY(make_gradients(d, op));
    return send_tables(d, op);
}

void op_free(device *d, image_op *op) {
    if (op->tables) d->kind->release_map(d, op->tables);
    free(op->set);
    free(op->slot);
    free(op->gradient);
    *op = (image_op){0};
}

/* The 16 terms of a step and the 8 outputs from `channel` on. */
static void tile_weights(const image_op *op, const image_conv *convs, int step, int channel,
                         int32_t to[OP_TILE_WEIGHTS]) {
    for (int term = 0; term < 2 * SLOT; term++) {
        const op_slot *s = &op->slot[2 * step + term / SLOT];
        for (int o = 0; o < TILE; o++)
            to[term * TILE + o] =
                s->conv < 0 ? -1
                            : op_weight(op, &convs[s->conv], s->tap, s->channel + term % SLOT, channel + o);
    }
}

void op_weights(const image_op *op, const image_conv *convs, int32_t *weights) {
    for (int i = 0; i < op->sets; i++)
        for (int step = 0; step < op->set[i].steps; step++)
            for (int k = 0; k < op->together; k++, weights += OP_TILE_WEIGHTS)
                tile_weights(op, convs, op->set[i].step + step, op->set[i].channel + k * TILE, weights);
}

static int32_t bias_at(const image_conv *convs, int o) {
    for (;; convs++) { /* each output is one convolution's */
        int own = o - convs->shape.y_offset;
        if (own >= 0 && own < convs->shape.out) return (int32_t)(convs->b + (size_t)own);
    }
}

void op_gradients(const image_op *op, const image_conv *convs, int32_t *weights) {
    for (int i = 0; i < op->gradients; i++, weights += OP_TILE_WEIGHTS) {
        const op_gradient *g = &op->gradient[i];
        if (g->step >= 0) {
            tile_weights(op, convs, g->step, g->channel, weights);
            continue;
        }
        for (int k = 0; k < OP_TILE_WEIGHTS; k++)
            weights[k] = k < TILE && g->channel + k < op->out ? bias_at(convs, g->channel + k) : -1;
    }
}

void op_biases(const image_op *op, const image_conv *convs, int32_t *biases) {
    for (int o = 0; o < op->out; o++) biases[o] = bias_at(convs, o);
}
