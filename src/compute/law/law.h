/* Laws: invertible maps u -> v of m elements. Those of couplings are given what networks say, A and b, for
 * every sample; a shared law has one A and one b for all samples, which are parameters.
 *
 * A law is one file law/NAME.h and one line in LAW_LIST; every device then runs it. The file consists of
 * static inline formulas over `num`, which the including device defines as its number type, marked LAW_FN, so
 * that a compiler for another kind of processor can take them as they are:
 *
 *     NAME_shape                          what the law needs: a law_shape
 *     NAME_outputs(c, m)                  how many numbers the network A gives for m elements
 *     NAME_forward(...)    -> logdet      u to v in place
 *     NAME_inverse(...)    -> logdet      (of u -> v) v to u in place
 *     NAME_backward(...)                  v -> u, dv -> du in place; dA, db overwritten, ds +=;
 *                                         dl = dL/dlogdet
 *
 * A LAW_EACH law treats each element by itself: its functions take one element,
 *     (c, A, b, s, &u)  and  (c, A, b, s, &v, &dv, dl, dA, &db, &ds),
 * where A and dA are that element's outputs(c, 1) numbers. A LAW_ALL law couples the m elements with one
 * another:
 *     (c, m, A, b, s, u)  and  (c, m, A, b, s, v, dv, dl, dA, db, &ds).
 * A shared law is SHARED_EACH or SHARED_ALL. It takes the same, except that its backward functions add to
 * dA and db. c is the law with its hyperparameters. A law without shift or scale is handed b = 0 or s = 0
 * and leaves db or ds alone; the devices know from the shape that there is none. */
#ifndef JF_COMPUTE_LAW_LAW_H
#define JF_COMPUTE_LAW_LAW_H

#include "types/recipe_key.h"

#define LAW_LIST(X)                                                                                          \
    X(affine, LAW_EACH)                                                                                      \
    X(shear, LAW_ALL)                                                                                        \
    X(additive, LAW_EACH)                                                                                    \
    X(spline, LAW_EACH)                                                                                      \
    X(scale, SHARED_EACH)                                                                                    \
    X(linear, SHARED_ALL)

typedef enum law_id {
#define X(name, form) law_##name,
    LAW_LIST(X)
#undef X
        law_count
} law_id;

#define LAW_MAX_HYPER 4

typedef struct law_shape {
    const char *doc;
    int has_scale; /* reads s, the layer's learned scale */
    int has_shift; /* reads b, one output of the network B for each element */
    /* Hyperparameters, at most LAW_MAX_HYPER: keys of [model], KEY_INT or KEY_REAL, that a recipe with this
     * law may have; NULL: none. Their values reach the formulas in law_config. */
    const recipe_key *keys;
} law_shape;

/* A law with its hyperparameters, in the order of its keys. */
typedef struct law_config {
    law_id id;
    double hyper[LAW_MAX_HYPER];
} law_config;

/* Bounds of s: no layer can scale by more than exp(3) either way. */
#define LAW_SCALE_LIMIT 3.0

law_config law_with_defaults(law_id law);
const char *law_name(law_id law);
int law_find(const char *name); /* -1: no such law */
const law_shape *law_shape_of(law_id law);
int law_outputs(const law_config *law, int m);      /* of the network A for m elements */
int law_shifts(const law_config *law, int m);       /* of the network B: m, or 0 */
int law_outputs_per_element(const law_config *law); /* -1: it couples the elements with one another */
int law_is_shared(law_id law);                      /* one A and b for all samples; not for couplings */

#endif
