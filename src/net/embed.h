/* Embedding networks: y -> e, which replace a long condition, such as a time series or an image, by a few
 * numbers. They are trained together with the flow, whose couplings read e instead of y.
 *
 * A kind is a file that lays out layers, and a line in embed_list.c; embed.c runs whatever they lay out. A
 * layer is
 *     rows (positions, in) = patches of what it reads,    rows' (positions, out) = act(rows W + b)
 * so that a dense layer has one row, which is all of it, and a convolution as many as its kernel has
 * places. */
#ifndef JF_NET_EMBED_H
#define JF_NET_EMBED_H

#include "net/net.h"
#include "types/y_axes.h"

#define EMBED_MOST_LAYERS 24

/* A layer, as exports see it. */
typedef struct embed_layer {
    int from;         /* numbers of a sample that it reads */
    int positions;    /* rows of a sample, all by the same weights */
    int in, out;      /* numbers of a row */
    double slope;     /* of the Leaky ReLU below zero; 1: linear */
    size_t w, b;      /* offsets of W (in, out) and b (out) among the parameters */
    int32_t *patches; /* (positions, in): where each number of a row lies in what is read; NULL: it is the one
                         row */
} embed_layer;

typedef struct embed embed;

typedef struct embed_kind {
    const char *name;       /* described in embed_list.c */
    const recipe_key *keys; /* keys of [model] that only this kind reads */
    /* Lays out its layers by embed_add_layer(), the last of which gives model.embed_size numbers; may set
     * `padded` and `place`. */
    jf_status (*lay_out)(embed *e, const recipe *r, param_list *params, const char *prefix);
} embed_kind;

struct embed {
    const embed_kind *kind;
    jf_context *ctx;
    device *d;
    int dim_y, size; /* numbers that go in and come out */
    y_axes axes;     /* of y, as the kind takes them */
    /* Where y has zeros around it: the first layer reads `padded` numbers, of which place[i] is y's number i.
     */
    int padded;
    int32_t *place; /* (dim_y); NULL: the first layer reads y itself */
    int layers;
    embed_layer layer[EMBED_MOST_LAYERS];
    struct embed_maps *maps; /* of the device: embed.c */
};

/* ---- what recipes say ---- */

extern const embed_kind *const embed_kinds[];     /* ends with NULL */
jf_status embed_declare(recipe *r);               /* model.embed and the keys of all kinds */
const embed_kind *embed_kind_of(const recipe *r); /* NULL: none */
/* Numbers of the condition inside the flow: the embedding's size, or dim_y without one. */
int embed_size_of(const recipe *r, int dim_y);

/* ---- for kinds ---- */

/* A layer that reads all that the one before gives (the first: `padded` numbers), in `positions` rows. */
jf_status embed_add_layer(embed *e, param_list *params, const char *prefix, int positions, int in, int out,
                          int linear);
/* Room for the patches (positions, in) of the layer that was added last, which then reads by them; borrowed.
 */
jf_status embed_add_patches(embed *e, int32_t **patches);

/* e->axes by model.embed_shape, from `least` to `most` of them, or of rank 0 where that is empty; `expected`
 * says what it may be. */
jf_status embed_read_axes(embed *e, const recipe *r, int least, int most, const char *expected);

#define EMBED_SIZE_KEY                                                                                       \
    { "model", "embed_size", KEY_INT, "16", 1, 1024, NULL, "Numbers that the embedding makes of y." }

/* ---- running ---- */

/* *out NULL: the recipe asks for none. Parameters are named "PREFIXembed.00.w". */
jf_status embed_create(jf_context *ctx, embed **out, device *d, const recipe *r, param_list *params,
                       const char *prefix, int dim_y);
void embed_free(embed *e);
void embed_describe(const embed *e, text *out); /* "conv1d, 100x2 to 16 numbers" */

/* Numbers of net_pass.work, which holds what forward leaves for backward. */
size_t embed_workspace(const embed *e, int n, int backward);
/* out (n, size) = E(y), y (n, dim_y). */
void embed_forward(const embed *e, const net_pass *p, const real *y, real *out);
/* After forward() of the same batch: from de (n, size), which is overwritten, to p->grad, +=, and dy (n,
 * dim_y), overwritten; NULL: not wanted. `out` is what forward() gave. */
void embed_backward(const embed *e, const net_pass *p, const real *y, const real *out, real *de, real *dy);

#endif
