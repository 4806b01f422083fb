#include "flow/flow_image.h"
#include "base/memory.h"
#include "base/number.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ELEMENTS (1 << 24) /* of a sample: positions are ints */

static const recipe_key keys[] = {
    {"model", "squeeze", KEY_WORDS, "none", 0, 0, NULL,
     "Blocks after which half of the elements are finished and the image is halved: 2, or 1 2, or none."},
    {0},
};

jf_status image_declare(recipe *r) {
    return recipe_declare(r, keys, "model.net=resnext");
}

/* An image of positions in the state: at [i][j][channel]. */
typedef struct view {
    int h, w, c;
    int32_t *at;
} view;

static jf_status view_create(jf_context *ctx, view *v, int h, int w, int c) {
    *v = (view){h, w, c, NULL};
    return MEM_NEW(ctx, &v->at, (size_t)h * (size_t)w * (size_t)c + 1);
}

static int32_t *pixel(const view *v, int i, int j) {
    return v->at + ((size_t)i * (size_t)v->w + (size_t)j) * (size_t)v->c;
}

static jf_status view_copy(jf_context *ctx, view *to, const view *from) {
    JF_TRY(view_create(ctx, to, from->h, from->w, from->c));
    memcpy(to->at, from->at, sizeof(int32_t) * (size_t)(from->h * from->w * from->c));
    return JF_OK;
}

/* Channels first .. first+count-1 of the whole state. */
static jf_status view_state(jf_context *ctx, view *v, image_size s, int first, int count) {
    JF_TRY(view_create(ctx, v, s.h, s.w, count));
    for (int p = 0; p < s.h * s.w; p++)
        for (int k = 0; k < count; k++) v->at[p * count + k] = p * (s.x_channels + s.y_channels) + first + k;
    return JF_OK;
}

/* Replaces a view by its 2x2 space to depth: the offsets from `first_offset` (0 or 2) on. */
static jf_status squeeze(jf_context *ctx, view *v, int first_offset) {
    view half;
    JF_TRY(view_create(ctx, &half, v->h / 2, v->w / 2, (4 - first_offset) * v->c));
    for (int i = 0; i < half.h; i++)
        for (int j = 0; j < half.w; j++)
            for (int o = first_offset; o < 4; o++)
                memcpy(pixel(&half, i, j) + (o - first_offset) * v->c, pixel(v, 2 * i + o / 2, 2 * j + o % 2),
                       sizeof(int32_t) * (size_t)v->c);
    free(v->at);
    *v = half;
    return JF_OK;
}

/* The pixels of even (parity 0) or odd i + j: two of each 2x2 cell, upper row first, stacked as channels. */
static jf_status half_of_pixels(jf_context *ctx, view *out, const view *v, int parity) {
    JF_TRY(view_create(ctx, out, v->h / 2, v->w / 2, 2 * v->c));
    for (int i = 0; i < out->h; i++)
        for (int j = 0; j < out->w; j++)
            for (int row = 0; row < 2; row++)
                memcpy(pixel(out, i, j) + row * v->c, pixel(v, 2 * i + row, 2 * j + (row + parity) % 2),
                       sizeof(int32_t) * (size_t)v->c);
    return JF_OK;
}

/* The channels of one parity. */
static jf_status half_of_channels(jf_context *ctx, view *out, const view *v, int parity) {
    JF_TRY(view_create(ctx, out, v->h, v->w, (v->c + 1 - parity) / 2));
    for (int p = 0; p < v->h * v->w; p++)
        for (int k = 0; k < out->c; k++) out->at[p * out->c + k] = v->at[p * v->c + 2 * k + parity];
    return JF_OK;
}

/* Appends the channels of `more`, an image of the same size. */
static jf_status join(jf_context *ctx, view *v, const view *more) {
    view both;
    JF_TRY(view_create(ctx, &both, v->h, v->w, v->c + more->c));
    for (int i = 0; i < v->h; i++)
        for (int j = 0; j < v->w; j++) {
            memcpy(pixel(&both, i, j), pixel(v, i, j), sizeof(int32_t) * (size_t)v->c);
            memcpy(pixel(&both, i, j) + v->c, pixel(more, i, j), sizeof(int32_t) * (size_t)more->c);
        }
    free(v->at);
    *v = both;
    return JF_OK;
}

typedef struct builder {
    jf_context *ctx;
    view flow;      /* what is transformed: x and y together (joint), or x alone */
    view condition; /* all of y, however often squeezed; of no channels where it is part of `flow` */
    view of_y;      /* what is transformed of y where it has a flow of its own; otherwise of no channels */
    layout layout;
    int block;
    flow_steps steps;
    int first,
        count; /* steps of the last block that has maps of its own; count 0: none since the last squeeze */
} builder;

/* Takes over the arrays of source and target. */
static jf_status add_step(builder *b, const view *of, view *source, view *target, int halved) {
    view active;
    JF_TRY(view_copy(b->ctx, &active, of));
    b->steps.specs[b->steps.count++] = (transform_spec){.dim = b->layout.pixels * b->layout.channels,
                                                        .layout = b->layout,
                                                        .active = active.at,
                                                        .active_shape = {active.h, active.w, active.c},
                                                        .source = source->at,
                                                        .target = target->at,
                                                        .source_shape = {source->h, source->w, source->c},
                                                        .target_shape = {target->h, target->w, target->c},
                                                        .block = b->block,
                                                        .halved = halved};
    source->at = target->at = NULL;
    return JF_OK;
}

/* Of the elements `of`; those of x also read y, where that is apart. */
static jf_status add_checkerboard(builder *b, const view *of, int parity) {
    view source = {0}, target = {0}, all = {0};
    jf_status status;
    JF_TRY_DONE(half_of_pixels(b->ctx, &source, of, parity));
    JF_TRY_DONE(half_of_pixels(b->ctx, &target, of, 1 - parity));
    if (of == &b->flow && b->condition.c) {
        JF_TRY_DONE(view_copy(b->ctx, &all, &b->condition));
        JF_TRY_DONE(squeeze(b->ctx, &all, 0));
        JF_TRY_DONE(join(b->ctx, &source, &all));
    }
    JF_TRY_DONE(add_step(b, of, &source, &target, 1));
done:
    free(source.at);
    free(target.at);
    free(all.at);
    return status;
}

/* One channel and a condition: "x given y" only. One channel and no condition: there is nothing to couple. */
static jf_status add_channelwise(builder *b, const view *of, int parity) {
    view source = {0}, target = {0};
    jf_status status;
    int reads_y = of == &b->flow && b->condition.c > 0, alone = of->c == 1;
    if (alone && !reads_y) return JF_OK;
    JF_TRY_DONE(half_of_channels(b->ctx, &source, of, alone ? 1 : parity));
    JF_TRY_DONE(half_of_channels(b->ctx, &target, of, alone ? 0 : 1 - parity));
    if (reads_y) JF_TRY_DONE(join(b->ctx, &source, &b->condition));
    JF_TRY_DONE(add_step(b, of, &source, &target, 0));
done:
    free(source.at);
    free(target.at);
    return status;
}

/* Is there a squeeze after this block (counted from 1)? */
static jf_status squeezes_after(const recipe *r, int block, int *yes) {
    char word[32];
    *yes = 0;
    if (recipe_is(r, "model.squeeze", "none")) return JF_OK;
    for (int i = 0; recipe_words(r, "model.squeeze", i, word, sizeof word); i++) {
        long long number;
        if (!number_parse_int(word, &number) || number < 1 || number >= recipe_int(r, "model.blocks"))
            return recipe_fail(r, "model.squeeze", "found \"%s\", expected \"none\" or blocks from 1 to %d",
                               word, recipe_int(r, "model.blocks") - 1);
        if (number == block) *yes = 1;
    }
    return JF_OK;
}

static jf_status check_even(const builder *b) {
    if (b->flow.h % 2 == 0 && b->flow.w % 2 == 0) return JF_OK;
    return jf_fail(b->ctx, JF_ERROR_SHAPE,
                   "block %d works on images of %d x %d, which a checkerboard cannot halve; sizes that can "
                   "be halved once more than there are squeezes before it would do, or fewer squeezes",
                   b->block + 1, b->flow.h, b->flow.w);
}

static jf_status add_couplings(builder *b, const view *of) {
    JF_TRY(add_checkerboard(b, of, 0));
    JF_TRY(add_checkerboard(b, of, 1));
    JF_TRY(add_channelwise(b, of, 0));
    return add_channelwise(b, of, 1);
}

/* Blocks without a squeeze between them have the same maps, which only the first of them makes. */
static jf_status add_maps(builder *b) {
    if (b->count) {
        for (int i = b->first; i < b->first + b->count; i++) {
            transform_spec *s = &b->steps.specs[b->steps.count++];
            *s = b->steps.specs[i];
            s->block = b->block;
            s->shares = 1;
        }
        return JF_OK;
    }
    b->first = b->steps.count;
    JF_TRY(check_even(b));
    if (b->of_y.c) JF_TRY(add_couplings(b, &b->of_y));
    JF_TRY(add_couplings(b, &b->flow));
    b->count = b->steps.count - b->first;
    return JF_OK;
}

static jf_status add_block(builder *b, const recipe *r) {
    int squeezed;
    JF_TRY(add_maps(b));
    JF_TRY(squeezes_after(r, b->block + 1, &squeezed));
    if (!squeezed) return JF_OK;
    b->count = 0;
    JF_TRY(squeeze(b->ctx, &b->flow, 2));
    if (b->of_y.c) JF_TRY(squeeze(b->ctx, &b->of_y, 2));
    return b->condition.c ? squeeze(b->ctx, &b->condition, 0) : JF_OK;
}

int image_is_vector(const recipe *r, image_size size) {
    return (size.h % 2 || size.w % 2) && !recipe_is(r, "model.net", "resnext");
}

jf_status image_check(jf_context *ctx, image_size size) {
    double elements = (double)size.h * size.w * ((double)size.x_channels + size.y_channels);
    if (size.h < 2 || size.w < 2 || size.x_channels < 1 || size.y_channels < 0 || elements > MAX_ELEMENTS)
        return jf_fail(ctx, JF_ERROR_SHAPE,
                       "images of %d x %d with %d channels of x and %d of y cannot be learned; expected at "
                       "least 2 x 2 pixels, a channel of x, and at most %d elements",
                       size.h, size.w, size.x_channels, size.y_channels, MAX_ELEMENTS);
    return JF_OK;
}

jf_status image_steps(jf_context *ctx, flow_steps *out, const recipe *r, image_size size,
                      condition_kind condition) {
    *out = (flow_steps){0};
    JF_TRY(image_check(ctx, size));
    int blocks = recipe_int(r, "model.blocks"), channels = size.x_channels + size.y_channels;
    builder b = {.ctx = ctx, .layout = {size.h * size.w, channels, size.x_channels}};
    jf_status status;
    int apart = condition != CONDITION_JOINT;
    JF_TRY_DONE(view_state(ctx, &b.flow, size, 0, apart ? size.x_channels : channels));
    if (apart) JF_TRY_DONE(view_state(ctx, &b.condition, size, size.x_channels, size.y_channels));
    if (condition == CONDITION_FLOW)
        JF_TRY_DONE(view_state(ctx, &b.of_y, size, size.x_channels, size.y_channels));
    JF_TRY_DONE(MEM_NEW(ctx, &b.steps.specs, (size_t)blocks * 8));
    for (b.block = 0; b.block < blocks; b.block++) JF_TRY_DONE(add_block(&b, r));
    *out = b.steps;
    b.steps = (flow_steps){0};
done:
    steps_free(&b.steps);
    free(b.flow.at);
    free(b.condition.at);
    free(b.of_y.at);
    return status;
}
