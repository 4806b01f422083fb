/* Runs the layers of an embedding, with entries that every device has: patches are an index map, by which
 * `gather` makes the rows of a product, and the backward pass adds up by `scatter_add`. That wants distinct
 * positions, so the map is cut into rounds: round k has the entries that read a number for the k-th time. */
#include "net/embed.h"
#include "base/memory.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOPE 0.1 /* of hidden layers */

/* Entries of a map that read distinct numbers: which entries, and which numbers. */
typedef struct map_round {
    int count;
    int32_t *entries, *numbers; /* device maps (count) */
} map_round;

typedef struct layer_maps {
    int32_t *patches; /* device map (positions, in); NULL: none */
    map_round *round;
    int rounds;
} layer_maps;

struct embed_maps {
    int32_t *place; /* device map (dim_y) */
    layer_maps layer[EMBED_MOST_LAYERS];
};

static size_t row_numbers(const embed_layer *l) {
    return (size_t)l->positions * (size_t)l->in;
}

static size_t given(const embed_layer *l) {
    return (size_t)l->positions * (size_t)l->out;
}

/* ---- making ---- */

jf_status embed_add_layer(embed *e, param_list *params, const char *prefix, int positions, int in, int out,
                          int linear) {
    if (e->layers == EMBED_MOST_LAYERS)
        return jf_fail(e->ctx, JF_ERROR_RECIPE, "model.embed_layers: more than %d layers in all",
                       EMBED_MOST_LAYERS);
    embed_layer *l = &e->layer[e->layers];
    const embed_layer *before = e->layers ? l - 1 : NULL;
    *l = (embed_layer){.from = before ? (int)given(before) : e->padded,
                       .positions = positions,
                       .in = in,
                       .out = out,
                       .slope = linear ? 1 : SLOPE};
    char name[PARAM_MAX_NAME];
    snprintf(name, sizeof name, "%sembed.%02d.w", prefix, e->layers);
    /* what passes keeps its size: E[act(t)^2] = (1 + slope^2)/2 of a symmetric t of variance 1 */
    double gain = linear ? 1 : sqrt(2 / (1 + SLOPE * SLOPE));
    JF_TRY(params_add(params, &l->w, name, 2, (size_t[]){(size_t)in, (size_t)out}, INIT_ORTHOGONAL, gain));
    snprintf(name, sizeof name, "%sembed.%02d.b", prefix, e->layers);
    JF_TRY(params_add(params, &l->b, name, 1, (size_t[]){(size_t)out}, INIT_CONSTANT, 0));
    e->layers++;
    return JF_OK;
}

jf_status embed_add_patches(embed *e, int32_t **patches) {
    embed_layer *l = &e->layer[e->layers - 1];
    jf_status status = MEM_NEW(e->ctx, &l->patches, row_numbers(l));
    *patches = l->patches;
    return status;
}

/* The entries of round k of a map, of which seen (from) counts those of each number so far. */
static jf_status add_round(const embed *e, const embed_layer *l, int k, int32_t *seen, int32_t *entries,
                           int32_t *numbers, map_round *out) {
    size_t count = 0;
    for (int i = 0; i < l->from; i++) seen[i] = 0;
    for (size_t i = 0; i < row_numbers(l); i++)
        if (seen[l->patches[i]]++ == k) {
            entries[count] = (int32_t)i;
            numbers[count++] = l->patches[i];
        }
    out->count = (int)count;
    if (count == 0) return JF_OK;
    JF_TRY(e->d->kind->alloc_map(e->d, &out->entries, entries, count));
    return e->d->kind->alloc_map(e->d, &out->numbers, numbers, count);
}

static int most_readers(const embed_layer *l, int32_t *seen) {
    int most = 0;
    for (int i = 0; i < l->from; i++) seen[i] = 0;
    for (size_t i = 0; i < row_numbers(l); i++)
        if (++seen[l->patches[i]] > most) most = seen[l->patches[i]];
    return most;
}

static jf_status create_rounds(const embed *e, const embed_layer *l, layer_maps *out) {
    int32_t *seen = NULL, *entries = NULL, *numbers = NULL;
    jf_status status;
    JF_TRY_DONE(MEM_NEW(e->ctx, &seen, (size_t)l->from));
    JF_TRY_DONE(MEM_NEW(e->ctx, &entries, row_numbers(l)));
    JF_TRY_DONE(MEM_NEW(e->ctx, &numbers, row_numbers(l)));
    int rounds = most_readers(l, seen);
    JF_TRY_DONE(MEM_NEW(e->ctx, &out->round, (size_t)rounds + 1)); /* ends with one without entries */
    for (out->rounds = 0; out->rounds < rounds; out->rounds++)
        JF_TRY_DONE(add_round(e, l, out->rounds, seen, entries, numbers, &out->round[out->rounds]));
done:
    free(seen);
    free(entries);
    free(numbers);
    return status;
}

static jf_status create_maps(embed *e) {
    const device_kind *k = e->d->kind;
    JF_TRY(MEM_NEW(e->ctx, &e->maps, 1));
    if (e->place) JF_TRY(k->alloc_map(e->d, &e->maps->place, e->place, (size_t)e->dim_y));
    for (int i = 0; i < e->layers; i++) {
        const embed_layer *l = &e->layer[i];
        layer_maps *m = &e->maps->layer[i];
        if (!l->patches) continue;
        JF_TRY(k->alloc_map(e->d, &m->patches, l->patches, row_numbers(l)));
        JF_TRY(create_rounds(e, l, m));
    }
    return JF_OK;
}

jf_status embed_create(jf_context *ctx, embed **out, device *d, const recipe *r, param_list *params,
                       const char *prefix, int dim_y) {
    const embed_kind *kind = embed_kind_of(r);
    embed *e;
    *out = NULL;
    if (!kind) return JF_OK;
    JF_TRY(MEM_NEW(ctx, &e, 1));
    *e = (embed){
        .kind = kind, .ctx = ctx, .d = d, .dim_y = dim_y, .padded = dim_y, .size = embed_size_of(r, dim_y)};
    jf_status status = kind->lay_out(e, r, params, prefix);
    if (status == JF_OK && !params->only_names) status = create_maps(e);
    if (status == JF_OK)
        *out = e;
    else
        embed_free(e);
    return status;
}

static void release(const embed *e, int32_t *map) {
    if (map) e->d->kind->release_map(e->d, map);
}

static void free_maps(const embed *e) {
    if (!e->maps) return;
    release(e, e->maps->place);
    for (int i = 0; i < e->layers; i++) {
        const layer_maps *m = &e->maps->layer[i];
        release(e, m->patches);
        for (int k = 0; m->round && m->round[k].entries; k++) {
            release(e, m->round[k].entries);
            release(e, m->round[k].numbers);
        }
        free(m->round);
    }
    free(e->maps);
}

void embed_free(embed *e) {
    if (!e) return;
    free_maps(e);
    for (int i = 0; i < e->layers; i++) free(e->layer[i].patches);
    free(e->place);
    free(e);
}

void embed_describe(const embed *e, text *out) {
    char words[Y_AXES_WORDS];
    int convolutions = 0;
    for (int i = 0; i < e->layers; i++) convolutions += e->layer[i].patches != NULL;
    text_add(out, "%s, %s numbers to %d", e->kind->name, y_axes_words(&e->axes, words), e->size);
    if (convolutions) text_add(out, ", %d convolution%s", convolutions, convolutions == 1 ? "" : "s");
    text_add(out, ", %d dense layers", e->layers - convolutions);
}

/* ---- running ---- */

/* Scratch of a pass, in this order. What the layers give stays from forward to backward. */
typedef struct buffers {
    real *padded;                   /* (n, padded): y among zeros */
    real *given[EMBED_MOST_LAYERS]; /* (n, positions, out) of each layer but the last */
    real *rows, *drows, *part;      /* (n, positions, in) of any layer; a round of it */
    real *dgiven[2];                /* (n, positions, out) of any layer, or what the first one reads */
} buffers;

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Lays the buffers out from `at` on; gives their numbers in all. */
static size_t layout_scratch(const embed *e, const device *d, int n, int backward, real *at, buffers *b) {
    size_t samples = (size_t)n, used = 0, rows = 0, gradient = (size_t)e->padded;
    for (int i = 0; i < e->layers; i++) {
        if (e->layer[i].patches) rows = larger(rows, row_numbers(&e->layer[i]));
        gradient = larger(gradient, given(&e->layer[i]));
    }
    *b = (buffers){0};
#define TAKE(view, numbers)                                                                                  \
    do {                                                                                                     \
        (view) = at ? real_at(d, at, used) : NULL;                                                           \
        used += samples * (numbers);                                                                         \
    } while (0)
    if (e->place) TAKE(b->padded, (size_t)e->padded);
    for (int i = 0; i + 1 < e->layers; i++) TAKE(b->given[i], given(&e->layer[i]));
    TAKE(b->rows, rows);
    if (backward) {
        TAKE(b->drows, rows);
        TAKE(b->part, rows);
        for (int k = 0; k < 2; k++) TAKE(b->dgiven[k], gradient);
    }
#undef TAKE
    return used;
}

size_t embed_workspace(const embed *e, int n, int backward) {
    buffers b;
    return layout_scratch(e, e->d, n, backward, NULL, &b);
}

/* The rows of layer i: those of its map, or what it reads as it is. */
static const real *rows_of(const embed *e, const net_pass *p, int i, const buffers *b, const real *read) {
    const embed_layer *l = &e->layer[i];
    if (!l->patches) return read;
    p->d->kind->gather(p->d, b->rows, read, e->maps->layer[i].patches, p->n, (int)row_numbers(l), l->from);
    return b->rows;
}

void embed_forward(const embed *e, const net_pass *p, const real *y, real *out) {
    device *d = p->d;
    const device_kind *k = d->kind;
    buffers b;
    layout_scratch(e, d, p->n, 0, p->work, &b);
    const real *read = y;
    if (e->place) {
        k->fill(d, b.padded, 0, (size_t)p->n * (size_t)e->padded);
        k->scatter(d, b.padded, y, e->maps->place, p->n, e->dim_y, e->padded);
        read = b.padded;
    }
    for (int i = 0; i < e->layers; i++) {
        const embed_layer *l = &e->layer[i];
        real *to = i + 1 < e->layers ? b.given[i] : out;
        k->dense_forward(d, to, rows_of(e, p, i, &b, read), real_at(d, p->params, l->w),
                         real_at(d, p->params, l->b), p->n * l->positions, l->in, l->out, l->slope);
        read = to;
    }
}

/* dread (n, from) overwritten, from the gradient of the rows in b->drows. */
static void add_rounds(const embed *e, const net_pass *p, int i, const buffers *b, real *dread) {
    const embed_layer *l = &e->layer[i];
    const layer_maps *m = &e->maps->layer[i];
    const device_kind *k = p->d->kind;
    k->fill(p->d, dread, 0, (size_t)p->n * (size_t)l->from);
    for (int r = 0; r < m->rounds; r++) {
        const map_round *round = &m->round[r];
        k->gather(p->d, b->part, b->drows, round->entries, p->n, round->count, (int)row_numbers(l));
        k->scatter_add(p->d, dread, b->part, round->numbers, p->n, round->count, l->from);
    }
}

void embed_backward(const embed *e, const net_pass *p, const real *y, const real *out, real *de, real *dy) {
    device *d = p->d;
    const device_kind *k = d->kind;
    buffers b;
    layout_scratch(e, d, p->n, 1, p->work, &b);
    real *dgiven = de;
    for (int i = e->layers - 1; i >= 0; i--) {
        const embed_layer *l = &e->layer[i];
        const real *read = i > 0 ? b.given[i - 1] : e->place ? b.padded : y;
        int wanted = i > 0 || dy;
        real *dread = i > 0 || e->place ? b.dgiven[i % 2] : dy;
        real *dx = !wanted ? NULL : l->patches ? b.drows : dread;
        k->dense_backward(d, dx, p->grad ? real_at(d, p->grad, l->w) : NULL,
                          p->grad ? real_at(d, p->grad, l->b) : NULL, dgiven,
                          i + 1 < e->layers ? b.given[i] : out, rows_of(e, p, i, &b, read),
                          real_at(d, p->params, l->w), p->n * l->positions, l->in, l->out, l->slope);
        if (wanted && l->patches) add_rounds(e, p, i, &b, dread);
        dgiven = dread;
    }
    if (dy && e->place) k->gather(d, dy, dgiven, e->maps->place, p->n, e->dim_y, e->padded);
}
