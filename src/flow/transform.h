/* A transform: one invertible step of the flow, on a batch of states (n, dim), in place.
 *
 * Sign law, written once: `logdet` is the log-determinant of data -> latent, per sample, whichever way we go:
 *     log p(x) = log p_Z(z) + logdet
 * after forward (z from x) and after inverse (x from z) alike.
 *
 * State keeps its shape and every element its place: masks and squeezes are index maps into it, so elements
 * that leave early simply stay where they are, and z and y' have the shapes of x and y at the end.
 *
 * The backward pass recovers its input by inverting, so that memory does not grow with depth. Where a budget
 * allows, a transform may keep activations for it (`kept`), which saves computing them twice.
 *
 * A kind is one file with the same functions in the same order. */
#ifndef JF_FLOW_TRANSFORM_H
#define JF_FLOW_TRANSFORM_H

#include "net/net.h"

typedef struct transform transform;

/* What a pass needs besides the transform. */
typedef struct pass {
    device *d;
    const real *params; /* flat */
    real *grad;         /* flat, accumulated; NULL: no gradients of parameters wanted */
    real *work;         /* at least the largest `workspace` of all transforms */
    real *kept; /* NULL, or `kept` numbers of this transform, the same in a pass and in its backward pass */
    real *const *kept_by_layer; /* NULL, or the above for each transform of a chain */
} pass;

typedef struct transform_kind {
    const char *name;
    void (*free)(transform *t, device *d);
    /* numbers of pass.work for passes of up to n samples */
    size_t (*workspace)(const transform *t, const device *d, int n, layer_use use);
    size_t (*kept)(const transform *t, const device *d, int n); /* numbers it can make use of; 0: none */
    void (*forward)(const transform *t, const pass *p, int n, real *u_to_v, real *logdet); /* logdet += */
    void (*inverse)(const transform *t, const pass *p, int n, real *v_to_u, real *logdet); /* logdet += */
    /* of forward: v -> u by inverting, dv -> du; dlogdet (n) is dL/dlogdet */
    void (*backward)(const transform *t, const pass *p, int n, real *v_to_u, real *dv_to_du,
                     const real *dlogdet);
    /* of inverse: u -> v, du -> dv */
    void (*inverse_backward)(const transform *t, const pass *p, int n, real *u_to_v, real *du_to_dv,
                             const real *dlogdet);
} transform_kind;

struct transform {
    const transform_kind *kind;
    int dim;
    void *own;
};

/* A coupling layer: the networks read the source elements (a sample of shape source_shape) and transform the target
 * elements; the source elements stay as they are. */
typedef struct coupling_spec {
    int dim;
    law_config law;
    const int32_t *source, *target; /* positions in the state */
    shape source_shape, target_shape;
    int block, halved; /* for its networks: see net.h */
    char prefix[32];   /* of its parameters' names */
} coupling_spec;
jf_status coupling_create(jf_context *ctx, transform *out, device *d, const coupling_spec *spec,
                          const recipe *r, param_list *params);

#endif
