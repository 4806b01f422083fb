/* Scale law, shared:  v = exp(A) u + b,  logdet = A, for each element. */
#include <tgmath.h>

static const law_shape scale_shape = {.doc = "v = exp(A) u + b, the same for all samples", .has_shift = 1};

LAW_FN int scale_outputs(const law_config *c, int m) {
    (void)c;
    return m;
}

LAW_FN num scale_forward(const law_config *c, const num *A, num b, num s, num *u_to_v) {
    (void)c, (void)s;
    *u_to_v = exp(A[0]) * *u_to_v + b;
    return A[0];
}

LAW_FN num scale_inverse(const law_config *c, const num *A, num b, num s, num *v_to_u) {
    (void)c, (void)s;
    *v_to_u = (*v_to_u - b) * exp(-A[0]);
    return A[0];
}

/* dA += dv (v - b) + dl;  du = exp(A) dv;  db += dv */
LAW_FN void scale_backward(const law_config *c, const num *A, num b, num s, num *v, num *dv, num dl, num *dA,
                           num *db, num *ds) {
    (void)c, (void)s, (void)ds;
    num scale = exp(A[0]), shifted = *v - b;
    dA[0] += *dv * shifted + dl;
    *db += *dv;
    *v = shifted / scale;
    *dv *= scale;
}
