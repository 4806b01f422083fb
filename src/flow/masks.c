#include "flow/masks.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

#define SMALL_DIM       3
#define PAIRS_PER_BLOCK 3

/* All non-trivial masks of the first `free_dim` of `dim` elements; a mask of all free elements is trivial
 * only if nothing else is kept. Returns their number. */
static int small_masks(int free_dim, int dim, unsigned list[1 << SMALL_DIM]) {
    int count = 0;
    unsigned all = (1u << free_dim) - 1;
    for (unsigned bits = 1; bits <= all; bits++)
        if (bits != all || free_dim < dim) list[count++] = bits;
    return count;
}

static void random_half(rng *r, int free_dim, uint8_t *mask, uint8_t *complement) {
    int order[MASKS_MAX_DIM];
    for (int i = 0; i < free_dim; i++) order[i] = i;
    rng_shuffle(r, order, free_dim);
    for (int i = 0; i < free_dim; i++) (i < (free_dim + 1) / 2 ? mask : complement)[order[i]] = 1;
}

static jf_status check_size(jf_context *ctx, int dim_x, int dim_y) {
    int dim = dim_x + dim_y;
    if (dim < 2)
        return jf_fail(ctx, JF_ERROR_SHAPE,
                       "a coupling flow needs at least 2 elements to couple, found %d of x and %d of y",
                       dim_x, dim_y);
    if (dim > MASKS_MAX_DIM)
        return jf_fail(ctx, JF_ERROR_SHAPE, "vector models go up to %d elements, found %d", MASKS_MAX_DIM,
                       dim);
    return JF_OK;
}

static int moves_any(const uint8_t *mask, int count) {
    for (int k = 0; k < count; k++)
        if (mask[k]) return 1;
    return 0;
}

jf_status masks_check(jf_context *ctx, const uint8_t *masks, int layers, int dim_x, int dim_y,
                      condition_kind condition) {
    JF_TRY(check_size(ctx, dim_x, dim_y));
    for (int i = 0; i < layers; i++) {
        const uint8_t *mask = masks + (size_t)i * (size_t)(dim_x + dim_y);
        int of_x = moves_any(mask, dim_x), of_y = moves_any(mask + dim_x, dim_y);
        if (condition == CONDITION_FIXED && of_y)
            return jf_fail(ctx, JF_ERROR_SHAPE,
                           "mask of step %d transforms y, which model.condition = fixed keeps", i);
        if (condition == CONDITION_FLOW && of_x && of_y)
            return jf_fail(
                ctx, JF_ERROR_SHAPE,
                "mask of step %d transforms x and y together, which model.condition = flow keeps apart", i);
    }
    return JF_OK;
}

/* How the masks of a block are drawn: the first `moved` of dim elements are halved, or come as small masks.
 */
typedef struct block_form {
    int dim, moved;
    int count; /* masks of a block */
    unsigned small[1 << SMALL_DIM];
    int small_count; /* 0: halves */
    rng r;
} block_form;

static void form_block(block_form *f, int dim, int moved, uint64_t seed) {
    *f = (block_form){.dim = dim, .moved = moved, .r = rng_stream((rng_key){seed, RNG_MASK, 0}, 0)};
    if (dim <= SMALL_DIM) f->small_count = small_masks(moved, dim, f->small);
    int repeats = f->small_count && moved < dim && dim == SMALL_DIM && f->small_count <= SMALL_DIM
                      ? 6 / f->small_count
                      : 1;
    f->count = f->small_count ? f->small_count * repeats : moved > 1 ? 2 * PAIRS_PER_BLOCK : 1;
}

/* masks (count, dim), all zero. */
static void draw_block(block_form *f, uint8_t *masks) {
    if (f->small_count) {
        int order[6 * (1 << SMALL_DIM)];
        for (int i = 0; i < f->count; i++) order[i] = i % f->small_count;
        rng_shuffle(&f->r, order, f->count);
        for (int i = 0; i < f->count; i++)
            for (int k = 0; k < f->dim; k++) masks[i * f->dim + k] = f->small[order[i]] >> k & 1;
    } else if (f->moved == 1) {
        masks[0] = 1;
    } else {
        for (int i = 0; i < f->count; i += 2)
            random_half(&f->r, f->moved, masks + i * f->dim, masks + (i + 1) * f->dim);
    }
}

/* Those of y, which stand behind x: by a vector of its own, drawn into `own` (count, dim_y). */
static void draw_block_of_y(block_form *f, uint8_t *own, uint8_t *masks, int dim_x) {
    size_t dim_y = (size_t)f->dim;
    memset(own, 0, (size_t)f->count * dim_y);
    draw_block(f, own);
    for (size_t i = 0; i < (size_t)f->count; i++)
        memcpy(masks + i * ((size_t)dim_x + dim_y) + dim_x, own + i * dim_y, dim_y);
}

/* In each block those of y, then those of x. */
jf_status masks_create(jf_context *ctx, uint8_t **out, int *layers, int dim_x, int dim_y,
                       condition_kind condition, int blocks, uint64_t seed) {
    int apart = condition == CONDITION_FLOW && dim_y > 0, dim = dim_x + dim_y;
    block_form of_x, of_y = {0};
    uint8_t *own = NULL;
    JF_TRY(check_size(ctx, dim_x, dim_y));
    form_block(&of_x, dim, apart || condition == CONDITION_FIXED ? dim_x : dim, seed);
    if (apart) form_block(&of_y, dim_y, dim_y, seed);
    *layers = blocks * (of_x.count + of_y.count);
    JF_TRY(MEM_NEW(ctx, out, (size_t)*layers * (size_t)dim));
    if (apart) JF_TRY(MEM_NEW(ctx, &own, (size_t)of_y.count * (size_t)dim_y));
    uint8_t *at = *out;
    for (int b = 0; b < blocks; b++) {
        if (apart) draw_block_of_y(&of_y, own, at, dim_x);
        at += (size_t)of_y.count * (size_t)dim;
        draw_block(&of_x, at);
        at += (size_t)of_x.count * (size_t)dim;
    }
    free(own);
    return JF_OK;
}

/* From `first` on, before `end`. */
typedef struct elements {
    int first, end;
} elements;

/* The elements of a step: those that its coupling reads, and those that it transforms. */
static jf_status split(jf_context *ctx, transform_spec *s, const uint8_t *mask, elements of, int step) {
    int32_t *source, *target, count[2] = {0, 0};
    JF_TRY(MEM_NEW(ctx, &source, (size_t)s->dim));
    s->source = source;
    JF_TRY(MEM_NEW(ctx, &target, (size_t)s->dim));
    s->target = target;
    for (int i = of.first; i < of.end; i++)
        if (mask[i])
            target[count[1]++] = i;
        else
            source[count[0]++] = i;
    s->source_shape = (shape){1, 1, count[0]};
    s->target_shape = (shape){1, 1, count[1]};
    int alone = of.first > 0 && s->dim - of.first == 1; /* a y of one element */
    if ((count[0] || alone) && count[1]) return JF_OK;
    return jf_fail(ctx, JF_ERROR_SHAPE, "mask of step %d keeps %d and transforms %d of %d elements", step,
                   count[0], count[1], s->dim - of.first);
}

jf_status masks_step(jf_context *ctx, flow_steps *out, const uint8_t *masks, int step, int dim_x, int dim_y,
                     condition_kind condition, int y_read) {
    int dim = dim_x + dim_y, read = y_read > 0 && y_read < dim_y ? dim_x + y_read : dim;
    const uint8_t *mask = masks + (size_t)step * (size_t)dim;
    int of_y = condition == CONDITION_FLOW && moves_any(mask + dim_x, dim_y), first = of_y ? dim_x : 0;
    int count = of_y ? dim_y : condition == CONDITION_JOINT ? dim : dim_x;
    int32_t *active;
    JF_TRY(MEM_NEW(ctx, &out->specs, 1));
    out->count = 1;
    *out->specs = (transform_spec){.dim = dim, .layout = {1, dim, dim_x}, .active_shape = {1, 1, count}};
    JF_TRY(MEM_NEW(ctx, &active, (size_t)dim));
    for (int k = 0; k < count; k++) active[k] = first + k;
    out->specs->active = active;
    return split(ctx, out->specs, mask, (elements){first, read}, step);
}
