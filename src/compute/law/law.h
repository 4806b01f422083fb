/* Coupling laws: invertible maps u -> v of m elements, given A (raw network outputs), b and the scale s.
 *
 * A law is one file law/NAME.h of static inline formulas over `num`, which the including device defines as
 * its number type, and one line in LAW_LIST. Every device then runs it. The functions, in this order:
 *
 *     NAME_outputs(m)                                        how many numbers the network A gives
 *     NAME_forward(m, A, b, s, u_to_v)            -> logdet  in place
 *     NAME_inverse(m, A, b, s, v_to_u)            -> logdet  (of u -> v) in place
 *     NAME_backward(m, A, b, s, v, dv, dl, dA, db, &ds)      v -> u, dv -> du in place; ds +=; dl = dL/dlogdet
 *     NAME_inverse_backward(m, A, b, s, u, du, dl, dA, db, &ds)   u -> v, du -> dv in place; ds +=
 */
#ifndef JF_COMPUTE_LAW_LAW_H
#define JF_COMPUTE_LAW_LAW_H

#define LAW_LIST(X)                                                                                          \
    X(affine, "v = exp(a) u + b, a = s tanh(A): scaling and translation")                                    \
    X(shear, "v = (L + diag exp(a)) u + b, L strictly lower triangular: adds shear")

typedef enum law_id {
#define X(name, doc) law_##name,
    LAW_LIST(X)
#undef X
        law_count
} law_id;

/* Bounds of s: no layer can scale by more than exp(3) either way. */
#define LAW_SCALE_LIMIT 3.0

const char *law_name(law_id law);
int law_find(const char *name); /* -1: no such law */
int law_outputs(law_id law, int m);

#endif
