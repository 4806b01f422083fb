/* A coupling layer as a device sees it, for devices that run whole layers: what it is, and what is asked of
 * it. */
#ifndef JF_COMPUTE_LAYER_H
#define JF_COMPUTE_LAYER_H

#include "compute/law/law.h"
#include <stddef.h>
#include <stdint.h>

typedef struct real real; /* one number in a device's own precision and memory */

/* u1 = state[source] -> A, B -> u2 = state[target]. All of it, in host memory, must outlive the plan made of
 * it. */
typedef struct coupling_layer {
    int dim, k, m;                  /* elements of the state, of u1 and of u2 */
    const int32_t *source, *target; /* (k), (m): positions in the state */
    law_config law;
    size_t s; /* offset of the scale among the parameters, where the law has one */
    /* The networks A and B. `form` names the struct that `nets` [2] points to, each in a header of its own:
     * "dense": dense_net.h, "resnext": image_net.h. A network without outputs is absent. */
    const char *form;
    const void *nets;
} coupling_layer;

typedef struct layer_plan layer_plan; /* a device's own */

/* What the products of the networks, dense or of convolutions, are computed in: their factors are rounded to
 * it. Sums are float in all of them, and so are parameters, gradients, moments, statistics, laws and
 * log-determinants. A device that has but one precision computes in that, whatever it is asked for. */
typedef enum precision { PRECISION_FP32, PRECISION_TF32, PRECISION_BF16, PRECISION_COUNT } precision;

typedef enum pass_kind { PASS_FORWARD, PASS_INVERSE, PASS_BACKWARD } pass_kind;

/* What calls with a scratch will ask for. */
typedef struct layer_use {
    int backward;  /* backward passes, too */
    int gradients; /* of the parameters */
    int saved;     /* with saved activations */
    enum precision precision;
} layer_use;

/* One layer in one direction, in place on state (n, dim) and dstate.
 * PASS_FORWARD, PASS_INVERSE: logdet (n) +=; dstate, dlogdet and grad unused.
 * PASS_BACKWARD, of PASS_FORWARD: from dlogdet (n); grad (flat, like params) +=, NULL: not wanted.
 * saved: NULL, or plan_saved() numbers, the same in a pass and in its backward passes, of which there may be
 * several; these have the precision of the pass. */
typedef struct layer_call {
    pass_kind kind;
    int n;
    const real *params;
    real *grad, *state, *dstate, *logdet;
    const real *dlogdet;
    real *saved, *scratch;
    enum precision precision;
} layer_call;

#endif
