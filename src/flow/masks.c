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

jf_status masks_check(jf_context *ctx, const uint8_t *masks, int layers, int dim_x, int dim_y, int fixed) {
    JF_TRY(check_size(ctx, dim_x, dim_y));
    for (int i = 0; fixed && i < layers; i++)
        for (int k = dim_x; k < dim_x + dim_y; k++)
            if (masks[(size_t)i * (size_t)(dim_x + dim_y) + (size_t)k])
                return jf_fail(ctx, JF_ERROR_SHAPE,
                               "mask of step %d transforms y, which model.condition = fixed keeps", i);
    return JF_OK;
}

jf_status masks_create(jf_context *ctx, uint8_t **out, int *layers, int dim_x, int dim_y, int fixed,
                       int blocks, uint64_t seed) {
    int dim = dim_x + dim_y, free_dim = fixed ? dim_x : dim;
    JF_TRY(check_size(ctx, dim_x, dim_y));
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

/* The elements of a step: those that its coupling keeps and those that it transforms. */
static jf_status split(jf_context *ctx, transform_spec *s, const uint8_t *mask, int step) {
    int32_t *source, *target, count[2] = {0, 0};
    JF_TRY(MEM_NEW(ctx, &source, (size_t)s->dim));
    s->source = source;
    JF_TRY(MEM_NEW(ctx, &target, (size_t)s->dim));
    s->target = target;
    for (int i = 0; i < s->dim; i++)
        if (mask[i])
            target[count[1]++] = i;
        else
            source[count[0]++] = i;
    s->source_shape = (shape){1, 1, count[0]};
    s->target_shape = (shape){1, 1, count[1]};
    if (count[0] && count[1]) return JF_OK;
    return jf_fail(ctx, JF_ERROR_SHAPE, "mask of step %d keeps %d and transforms %d of %d elements", step,
                   count[0], count[1], s->dim);
}

jf_status masks_steps(jf_context *ctx, flow_steps *out, const uint8_t *masks, int steps, int dim_x, int dim_y,
                      int fixed) {
    int dim = dim_x + dim_y;
    JF_TRY(MEM_NEW(ctx, &out->specs, (size_t)steps));
    for (int i = 0; i < steps; i++) {
        transform_spec *s = &out->specs[out->count++];
        int32_t *active;
        *s = (transform_spec){
            .dim = dim, .layout = {1, dim, dim_x}, .active_shape = {1, 1, fixed ? dim_x : dim}};
        JF_TRY(MEM_NEW(ctx, &active, (size_t)dim));
        for (int k = 0; k < dim; k++) active[k] = k;
        s->active = active;
        JF_TRY(split(ctx, s, masks + (size_t)i * (size_t)dim, i));
    }
    return JF_OK;
}
