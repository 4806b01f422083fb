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

static jf_status create(jf_context *ctx, uint8_t **out, int *layers, int dim_x, int dim_y, int fixed,
                        int blocks, uint64_t seed) {
    int dim = dim_x + dim_y, free_dim = fixed ? dim_x : dim;
    unsigned small[1 << SMALL_DIM];
    int small_count = dim <= SMALL_DIM ? small_masks(free_dim, dim, small) : 0;
    int repeats = small_count && fixed && dim == SMALL_DIM && small_count <= SMALL_DIM ? 6 / small_count : 1;
    int per_block = small_count ? small_count * repeats : free_dim > 1 ? 2 * PAIRS_PER_BLOCK : 1;
    *layers = blocks * per_block;
    JF_TRY(MEM_NEW(ctx, out, (size_t)*layers * (size_t)dim));
    rng r = rng_stream((rng_key){seed, RNG_MASK, 0}, 0);
    for (int b = 0; b < blocks; b++) {
        uint8_t *block = *out + (size_t)b * per_block * dim;
        if (small_count) {
            int order[6 * (1 << SMALL_DIM)];
            for (int i = 0; i < per_block; i++) order[i] = i % small_count;
            rng_shuffle(&r, order, per_block);
            for (int i = 0; i < per_block; i++)
                for (int k = 0; k < dim; k++) block[i * dim + k] = small[order[i]] >> k & 1;
        } else if (free_dim == 1) {
            block[0] = 1;
        } else {
            for (int i = 0; i < per_block; i += 2)
                random_half(&r, free_dim, block + i * dim, block + (i + 1) * dim);
        }
    }
    return JF_OK;
}

/* Masks of y alone, by those of a vector of its own. */
static jf_status create_of_y(jf_context *ctx, uint8_t **out, int *layers, int dim_y, int blocks,
                             uint64_t seed) {
    if (dim_y > 1) return create(ctx, out, layers, dim_y, 0, 0, blocks, seed);
    *layers = blocks;
    JF_TRY(MEM_NEW(ctx, out, (size_t)blocks));
    memset(*out, 1, (size_t)blocks);
    return JF_OK;
}

/* In each block those of y, then those of x. */
static jf_status create_apart(jf_context *ctx, uint8_t **out, int *layers, int dim_x, int dim_y, int blocks,
                              uint64_t seed) {
    uint8_t *of_x, *of_y = NULL;
    int steps_x, steps_y, dim = dim_x + dim_y;
    jf_status status;
    JF_TRY(create(ctx, &of_x, &steps_x, dim_x, dim_y, 1, blocks, seed));
    JF_TRY_DONE(create_of_y(ctx, &of_y, &steps_y, dim_y, blocks, seed));
    *layers = steps_x + steps_y;
    JF_TRY_DONE(MEM_NEW(ctx, out, (size_t)*layers * (size_t)dim));
    uint8_t *at = *out;
    for (int b = 0; b < blocks; b++) {
        for (int i = 0; i < steps_y / blocks; i++, at += dim)
            memcpy(at + dim_x, of_y + (size_t)(b * (steps_y / blocks) + i) * (size_t)dim_y, (size_t)dim_y);
        size_t count = (size_t)(steps_x / blocks) * (size_t)dim;
        memcpy(at, of_x + (size_t)b * count, count);
        at += count;
    }
done:
    free(of_x);
    free(of_y);
    return status;
}

jf_status masks_create(jf_context *ctx, uint8_t **out, int *layers, int dim_x, int dim_y,
                       condition_kind condition, int blocks, uint64_t seed) {
    JF_TRY(check_size(ctx, dim_x, dim_y));
    if (condition == CONDITION_FLOW && dim_y > 0)
        return create_apart(ctx, out, layers, dim_x, dim_y, blocks, seed);
    return create(ctx, out, layers, dim_x, dim_y, condition == CONDITION_FIXED, blocks, seed);
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

jf_status masks_steps(jf_context *ctx, flow_steps *out, const uint8_t *masks, int steps, int dim_x, int dim_y,
                      condition_kind condition, int y_read) {
    int dim = dim_x + dim_y, read = y_read > 0 && y_read < dim_y ? dim_x + y_read : dim;
    JF_TRY(MEM_NEW(ctx, &out->specs, (size_t)steps));
    for (int i = 0; i < steps; i++) {
        transform_spec *s = &out->specs[out->count++];
        const uint8_t *mask = masks + (size_t)i * (size_t)dim;
        int of_y = condition == CONDITION_FLOW && moves_any(mask + dim_x, dim_y), first = of_y ? dim_x : 0;
        int count = of_y ? dim_y : condition == CONDITION_JOINT ? dim : dim_x;
        int32_t *active;
        *s = (transform_spec){.dim = dim, .layout = {1, dim, dim_x}, .active_shape = {1, 1, count}};
        JF_TRY(MEM_NEW(ctx, &active, (size_t)dim));
        for (int k = 0; k < count; k++) active[k] = first + k;
        s->active = active;
        JF_TRY(split(ctx, s, mask, (elements){first, read}, i));
    }
    return JF_OK;
}
