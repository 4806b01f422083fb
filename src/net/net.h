/* Coupling networks: u1 -> (A, B), the two networks of a coupling layer evaluated together. A law may do
 * without one of them: its output then has no elements, it has no parameters, and nothing is computed for it.
 *
 * A kind is one file with the same functions in the same order, and a line in list.c. Networks keep no
 * activations: backward gets the input again and recomputes. */
#ifndef JF_NET_NET_H
#define JF_NET_NET_H

#include "compute/compute.h"
#include "io/recipe.h"
#include "net/params.h"

typedef struct shape {
    int h, w, c;
} shape; /* a sample: [h][w][c]; a vector has h = w = 1 */

typedef struct net net;

/* What a pass needs besides the network; the same in a pass and in its backward pass. */
typedef struct net_pass {
    device *d;
    const real *params; /* flat */
    real *grad;         /* of backward: flat, +=; NULL: not wanted */
    real *work;         /* at least `workspace` numbers */
    int n;              /* samples */
    dropout_source dropout;
} net_pass;

typedef struct net_kind {
    const char *name, *summary;
    const recipe_key *keys; /* keys of [model] that only this kind reads */
    /* Reads its keys, adds its parameters under "PREFIX.A." and "PREFIX.B.", fills in own. */
    jf_status (*create)(net *t, const recipe *r, param_list *params, const char *prefix);
    void (*free)(net *t);
    size_t (*workspace)(const net *t, int n); /* numbers of scratch that forward and backward need */
    void (*forward)(const net *t, const net_pass *p, const real *u1, real *A, real *B);
    /* du1 overwritten. dA and dB may be overwritten. */
    void (*backward)(const net *t, const net_pass *p, const real *u1, real *dA, real *dB, real *du1);
    /* Optional: A and B as plain structs, for devices that run whole layers and for export/; which struct,
     * the kind's name tells (see compute/layer.h; "residual": net/residual_net.h). It lives as long as the
     * network. */
    const void *(*describe)(const net *t);
} net_kind;

struct net {
    const net_kind *kind;
    jf_context *ctx;
    shape in, out_a, out_b;
    int block, halved; /* where it stands: the block of its coupling, and whether that is a checkerboard's
                          half image */
    void *own;
};

extern const net_kind *const net_kinds[]; /* ends with NULL */

static inline int shape_size(shape s) {
    return s.h * s.w * s.c;
}

/* The key of the recipe's networks that sets the size of their first weights ("model.output_gain"); of
 * several the one that is furthest above its default. out: at least NET_MAX_KEY bytes. */
#define NET_MAX_KEY 48
const char *net_highest_gain(const recipe *r, char *out);
/* Declares model.net and the keys of all kinds. */
jf_status net_declare(recipe *r);
jf_status net_create(jf_context *ctx, net **out, const recipe *r, param_list *params, const char *prefix,
                     const net *place); /* place: shapes, block and halved of the new one */
void net_free(net *t);

/* Keys of networks of dense layers. */
#define NET_DENSE_KEYS                                                                                       \
    {"model", "width", KEY_INT, "64", 1, 4096, NULL, "Units of each hidden layer."},                         \
        {"model", "slope", KEY_REAL, "0.3", 1e-3, 1, NULL, "Slope of the Leaky ReLU below zero."},           \
        {"model",  "hidden_gain",                                                                            \
         KEY_REAL, "1",                                                                                      \
         1e-3,     10,                                                                                       \
         NULL,     "Gain of the orthogonal start of the hidden layers."},                                    \
    {                                                                                                        \
        "model", "output_gain", KEY_REAL, "0.1", 0, 10, NULL,                                                \
            "Gain of the orthogonal start of the output layer."                                              \
    }

#endif
