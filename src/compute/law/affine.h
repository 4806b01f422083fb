/* Affine law:  v = exp(a) u + b,  a = s tanh(A),  logdet = a, for each element.
 * Float calls resolve to float functions through tgmath. */
#include <tgmath.h>

static const law_shape affine_shape = {
    .doc = "v = exp(a) u + b, a = s tanh(A): scaling and translation", .has_scale = 1, .has_shift = 1};

LAW_FN int affine_outputs(const law_config *c, int m) {
    (void)c;
    return m;
}

LAW_FN num affine_forward(const law_config *c, const num *A, num b, num s, num *u_to_v) {
    (void)c;
    num a = s * tanh(A[0]);
    *u_to_v = exp(a) * *u_to_v + b;
    return a;
}

LAW_FN num affine_inverse(const law_config *c, const num *A, num b, num s, num *v_to_u) {
    (void)c;
    num a = s * tanh(A[0]);
    *v_to_u = (*v_to_u - b) * exp(-a);
    return a;
}

/* da = dv (v - b) + dl;  du = exp(a) dv;  db = dv */
LAW_FN void affine_backward(const law_config *c, const num *A, num b, num s, num *v, num *dv, num dl, num *dA,
                            num *db, num *ds) {
    (void)c;
    num t = tanh(A[0]), scale = exp(s * t), shifted = *v - b;
    num da = *dv * shifted + dl;
    *v = shifted / scale;
    *db = *dv;
    dA[0] = da * s * (1 - t * t);
    *ds += da * t;
    *dv *= scale;
}
