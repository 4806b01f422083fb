/* The flow: a chain of transforms F: (x, y) -> (z, y'), and its parameters' names. Trained without data it is
 * z -> x; only model/use.h knows. */
#ifndef JF_FLOW_FLOW_H
#define JF_FLOW_FLOW_H

#include "flow/flow_image.h"
#include "net/embed.h"

typedef struct flow {
    jf_context *ctx;
    device *d;
    int dim_x, dim_y, dim;
    layout layout;
    int fixed;     /* no transform touches y: condition = fixed, or the objective wants it so */
    int apart;     /* y has a flow of its own: y' is made of y alone, and both are normal */
    embed *embed;  /* of y, which the chain reads in its place; NULL: none */
    int chain_dim; /* elements of what the chain works on: dim, or with an embedding dim_x + its size */
    struct embedded_maps *maps; /* of an embedding: embedded.c */
    int layers;
    transform *chain;   /* (layers): in each step one of every kind that model.transforms names */
    int steps;          /* of a vector its masks, of an image its couplings */
    uint8_t *masks;     /* (steps, chain_dim) of a vector: kept with the model */
    table_list tables;  /* of its transforms: kept with the model */
    param_list *params; /* of the whole model, which may hold more than one flow's */
} flow;

/* Where masks and tables come from: from the seed, or from a model file. */
typedef struct flow_origin {
    uint64_t seed;
    const uint8_t *masks; /* NULL, or (steps, chain_dim) of a file's vector model */
    int steps;
    const table_list *tables; /* NULL, or a file's */
    int keep_y;               /* no transform may move y, also where model.condition would let it */
    int y_read; /* of images that are taken for vectors: networks read so many elements of y, which tell the
                   others, too, as one pixel of the planes of a label does; 0: all */
} flow_origin;

jf_status flow_declare(recipe *r); /* keys of [model] */
/* chain_dim of a flow of vectors by that recipe. */
int flow_chain_dim(const recipe *r, int dim_x, int dim_y);
/* Adds its parameters to `params`, which must outlive it, under names that begin with `prefix` ("" for the
 * only flow of a model). */
jf_status flow_create(jf_context *ctx, flow **out, device *d, const recipe *r, param_list *params,
                      const char *prefix, int dim_x, int dim_y, const flow_origin *origin);
/* The same for images: a state is [h][w][c], x channels first; no masks are kept, they follow from the sizes.
 * Images with odd sides, which have no checkerboard of 2x2 cells, are taken for vectors where the networks
 * are of vectors; their masks follow from the seed. */
jf_status flow_create_image(jf_context *ctx, flow **out, device *d, const recipe *r, param_list *params,
                            const char *prefix, image_size size, const flow_origin *origin);
/* Whether it is what every flow was before there was a list of transforms: one coupling for each step. */
int flow_is_plain(const flow *f);
/* What stands in the place of a kind where a step has nothing to read: a y of one element that has a flow of
 * its own cannot be coupled, it is scaled and moved. */
const transform_kind *flow_kind_alone(const transform_kind *kind);
void flow_describe(const flow *f, text *out); /* "24 coupling layers" */
void flow_free(flow *f);

/* The transform's functions, along the chain. forward and inverse overwrite logdet (n). */
void flow_forward(const flow *f, const pass *p, int n, real *state, real *logdet);
void flow_inverse(const flow *f, const pass *p, int n, real *state, real *logdet);
void flow_backward(const flow *f, const pass *p, int n, real *state, real *dstate, const real *dlogdet);

/* Of flows of which y is apart: F_Y'(y) alone, which leaves x where it is, and the whole with the
 * log-determinants of dF_Z/dx and dF_Y'/dy apart. Where y is not apart, or there is none, the second is 0 and
 * the first that of the whole. */
void flow_forward_y(const flow *f, const pass *p, int n, real *state, real *logdet_y);
void flow_forward_apart(const flow *f, const pass *p, int n, real *state, real *logdet_x, real *logdet_y);
void flow_inverse_apart(const flow *f, const pass *p, int n, real *state, real *logdet_x, real *logdet_y);

/* A pass with its own scratch and batch buffers, for batches up to n_max; nothing is allocated afterwards.
 * Batches of fewer samples may follow each other; a backward pass must follow the pass of the same batch. */
typedef struct flow_run {
    const flow *f;
    pass pass;
    int n_max;
    real *state, *dstate;   /* (n_max, dim) */
    real *copy;             /* (n_max, dim): the batch as it came in */
    real *logdet, *dlogdet; /* (n_max) */
    real *term;             /* (n_max) */
    double *host;           /* (n_max, dim) */
    int32_t *order;         /* device map (dim): flow_row_element() of each; NULL where rows are states */
    real **saved;           /* (layers) activations for the backward pass; NULL where the budget ended */
} flow_run;
/* What a run is for. Layers keep their activations between a pass and its backward pass, as many as fit into
 * keep_mib MiB, from the last layer on. */
typedef struct run_use {
    int backward; /* backward passes, with gradients of parameters where a gradient buffer is given */
    double keep_mib;
    enum precision precision; /* of its passes, but for those of flow_measuring_pass() */
} run_use;
/* grad: NULL, or where gradients of parameters are added. */
jf_status flow_run_create(flow_run **out, const flow *f, const real *params, real *grad, int n_max,
                          run_use use);
/* Numbers that such a run holds for its layers: scratch, and saved activations; of each layer in saved_counts
 * (layers), which may be NULL. */
typedef struct run_size {
    size_t scratch, saved;
} run_size;
run_size flow_run_size(const flow *f, int n, run_use use, int gradients, size_t *saved_counts);
void flow_run_free(flow_run *run);
/* The pass of a run for what is measured, not learned: in PRECISION_FP32, without gradients of parameters,
 * nothing kept or dropped. To be used instead of run->pass, or in its place for a while. */
pass flow_measuring_pass(const flow_run *run);
/* run->state -> host values, and back */
void flow_run_put(flow_run *run, int n, const double *state);
void flow_run_get(flow_run *run, int n, double *state);
/* The same for rows as everything outside of the flow has them: all of x [h][w][cx], then all of y
 * [h][w][cy]. */
void flow_run_put_rows(flow_run *run, int n, const double *rows);
void flow_run_get_rows(flow_run *run, int n, double *rows);
int flow_row_element(const flow *f, int i); /* which element of a row is element i of the state */
/* run->state = rows of N(0, 1), drawn by the device; row i from stream (key, first + i). run->copy is lost.
 */
void flow_run_draw_rows(flow_run *run, int n, rng_key key, uint64_t first);

/* Lets transforms that have a `start` set their parameters from the batch in run->state, each by what reaches
 * it through those before. For once, before training: `params` is what run->pass.params points to. The state
 * is lost. */
jf_status flow_start(flow_run *run, int n, real *params);
int flow_has_start(const flow *f); /* whether any of them does */

/* Jacobian dF_i/du_j of forward, its first `rows` rows, at the states in `run`, which hold u before and F(u)
 * after: J (n, rows, dim) in host memory, from as many backward passes. logdet is left in run->logdet. */
void flow_jacobian(flow_run *run, int n, int rows, double *J);
/* Some rows of the Jacobian of one sample, of which the state holds n copies: row k, (dim), is that of
 * element outputs[k] of the state. One pass there and back for all of them. */
void flow_jacobian_rows(flow_run *run, int n, const int *outputs, double *J);

#endif
