/* A transform: one invertible step of the flow, on a batch of states (n, dim), in place.
 *
 * Sign law, written once: `logdet` is the log-determinant of the forward direction, per sample, whichever way
 * a pass goes. That is data -> latent, log p(x) = log p_Z(z) + logdet, after forward (z from x) and after
 * inverse (x from z) alike; of flows that run from latent points to data model/use.c turns the sign.
 *
 * State keeps its shape and every element its place: masks and squeezes are index maps into it, so elements
 * that leave early simply stay where they are, and z and y' have the shapes of x and y at the end.
 *
 * The backward pass recovers its input by inverting, so that memory does not grow with depth. Where a budget
 * allows, a transform may keep activations for it (`saved`), which saves computing them twice.
 *
 * A kind is one file with the same functions in the same order, and one line in list.c. */
#ifndef JF_FLOW_TRANSFORM_H
#define JF_FLOW_TRANSFORM_H

#include "flow/flow_tables.h"
#include "net/net.h"

typedef struct transform transform;

/* What a pass needs besides the transform. */
typedef struct pass {
    device *d;
    const real *params; /* flat */
    real *grad;         /* flat, accumulated; NULL: no gradients of parameters wanted */
    real *work;         /* at least the largest `workspace` of all transforms */
    real *saved; /* NULL, or `saved` numbers of this transform, the same in a pass and in its backward pass */
    real *const *saved_by_layer; /* NULL, or the above for each transform of a chain */
    enum precision precision;    /* of the products; the same in a pass and in its backward pass */
    dropout_source dropout;      /* of steps of training alone; likewise */
    int leave_dy; /* of a backward pass: where y has an embedding, its gradient is not wanted, and dstate of y
                     is left alone */
} pass;

/* What a transform is made from. All transforms of a step of the flow get the same, except for the last
 * group. An image of positions, shape [h][w][c], says where its elements lie in the state; a vector has h = w
 * = 1. */
typedef struct transform_spec {
    int dim;
    layout layout; /* of the state: which elements are x and which are y */
    /* The elements that it may transform: all that are not finished, of x alone where the condition is fixed.
     * In an image the elements of one channel are all x or all y. */
    const int32_t *active;
    shape active_shape;
    /* Of these a coupling transforms the target; its networks read the source, where a fixed condition is
     * part of it. */
    const int32_t *source, *target;
    shape source_shape, target_shape;
    int block, halved; /* for its networks: see net.h */
    int shares;        /* its maps are those of an earlier step, which owns them */

    int layer;               /* its place in the chain, from 0 */
    char prefix[32];         /* of the names of its parameters and tables: "layer.007" */
    uint64_t seed;           /* of tables that it draws */
    table_list *tables;      /* those of the flow: what it draws is added here */
    const table_list *given; /* NULL, or those of a model file, which it takes instead */
} transform_spec;

/* Whether a position in the state is one of y. */
static inline int spec_is_y(const transform_spec *spec, int32_t at) {
    return at % spec->layout.channels >= spec->layout.x_channels;
}

/* What a transform computes, for those who write it down elsewhere. Borrowed from the transform; positions
 * are those of the state, offsets those of the flat parameters. */
typedef struct transform_form {
    const coupling_layer *coupling; /* NULL: a shared law of `rows` rows of m elements each: */
    law_config law;
    int rows, m;
    size_t A, b;              /* b only where the law has a shift */
    const int32_t *from, *to; /* (rows, m): where u is read and v written */
} transform_form;

typedef struct transform_kind {
    const char *name;
    const recipe_key *keys; /* keys of [model] that only this kind reads; NULL: none */
    int nonlinear;          /* more than an affine map of the state: a step has at least one such transform */
    /* Adds its parameters, named "PREFIX...", fills in own; without maps and plans where the parameters are
     * only_names. What it leaves there after a failure, free() gets. */
    jf_status (*create)(jf_context *ctx, transform *out, device *d, const transform_spec *spec,
                        const recipe *r, param_list *params);
    void (*free)(transform *t, device *d); /* optional: there is nothing to free */
    /* Optional: numbers of pass.work for passes of up to n samples; it needs none. */
    size_t (*workspace)(const transform *t, const device *d, int n, layer_use use);
    /* Optional: numbers it can make use of. */
    size_t (*saved)(const transform *t, const device *d, int n, precision in);
    /* Optional: before the first step of training, sets its parameters by what reaches it, in a batch of the
     * data. */
    jf_status (*start)(const transform *t, const pass *p, int n, const real *state, real *params);
    void (*forward)(const transform *t, const pass *p, int n, real *u_to_v, real *logdet); /* logdet += */
    void (*inverse)(const transform *t, const pass *p, int n, real *v_to_u, real *logdet); /* logdet += */
    /* of forward: v -> u by inverting, dv -> du; dlogdet (n) is dL/dlogdet */
    void (*backward)(const transform *t, const pass *p, int n, real *v_to_u, real *dv_to_du,
                     const real *dlogdet);
    transform_form (*describe)(const transform *t);
} transform_kind;

/* What becomes of y. */
typedef enum condition_kind {
    CONDITION_JOINT, /* transformed together with x */
    CONDITION_FIXED, /* never transformed, read by all networks */
    CONDITION_FLOW   /* transformed by y alone, in the manner of C-Flow; x by x and all of y at the same depth
                      */
} condition_kind;

struct transform {
    const transform_kind *kind;
    int dim;
    int of_y;                        /* CONDITION_FLOW: it transforms y alone, and reads nothing else */
    size_t params_begin, params_end; /* its own ones in the flat parameters, behind those of the one before */
    void *own;
};

extern const transform_kind *const transform_kinds[];   /* ends with NULL; the first is the coupling */
const transform_kind *transform_find(const char *name); /* NULL: none */

#define TRANSFORMS_PER_STEP 8            /* at most */
jf_status transforms_declare(recipe *r); /* model.transforms, and the keys of all kinds */
/* The kinds that model.transforms names; refuses those that cannot make a flow. */
jf_status transforms_of_step(const recipe *r, const transform_kind *kinds[TRANSFORMS_PER_STEP], int *count);
jf_status transform_create(jf_context *ctx, transform *out, const transform_kind *kind, device *d,
                           const transform_spec *spec, const recipe *r, param_list *params);
void transform_free(transform *t, device *d); /* of one that was not created, too */
size_t transform_workspace(const transform *t, const device *d, int n, layer_use use);
size_t transform_saved(const transform *t, const device *d, int n, precision in);

/* Steps: what the transforms of each step are made from. */
typedef struct flow_steps {
    transform_spec *specs; /* (count), with the index maps that they point to */
    int count;
} flow_steps;
void steps_free(flow_steps *s);

#endif
