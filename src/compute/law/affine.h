/* Affine law:  v_i = exp(a_i) u_i + b_i,  a_i = s tanh(A_i),  logdet = sum_i a_i.
 * Float calls resolve to float functions through tgmath. */
#include <tgmath.h>

static inline int affine_outputs(int m) {
    return m;
}

static inline num affine_forward(int m, const num *A, const num *b, num s, num *u_to_v) {
    num logdet = 0;
    for (int i = 0; i < m; i++) {
        num a = s * tanh(A[i]);
        u_to_v[i] = exp(a) * u_to_v[i] + b[i];
        logdet += a;
    }
    return logdet;
}

static inline num affine_inverse(int m, const num *A, const num *b, num s, num *v_to_u) {
    num logdet = 0;
    for (int i = 0; i < m; i++) {
        num a = s * tanh(A[i]);
        v_to_u[i] = (v_to_u[i] - b[i]) * exp(-a);
        logdet += a;
    }
    return logdet;
}

/* da = dv (v - b) + dl;  du = exp(a) dv;  db = dv */
static inline void affine_backward(int m, const num *A, const num *b, num s, num *v, num *dv, num dl, num *dA,
                                   num *db, num *ds) {
    for (int i = 0; i < m; i++) {
        num t = tanh(A[i]), scale = exp(s * t), shifted = v[i] - b[i];
        num da = dv[i] * shifted + dl;
        v[i] = shifted / scale;
        db[i] = dv[i];
        dA[i] = da * s * (1 - t * t);
        *ds += da * t;
        dv[i] *= scale;
    }
}

/* u = (v - b) exp(-a):  da = -du u + dl;  dv = exp(-a) du;  db = -dv */
static inline void affine_inverse_backward(int m, const num *A, const num *b, num s, num *u, num *du, num dl,
                                           num *dA, num *db, num *ds) {
    for (int i = 0; i < m; i++) {
        num t = tanh(A[i]), scale = exp(s * t);
        num da = dl - du[i] * u[i];
        u[i] = scale * u[i] + b[i];
        du[i] /= scale;
        db[i] = -du[i];
        dA[i] = da * s * (1 - t * t);
        *ds += da * t;
    }
}
