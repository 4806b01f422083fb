/* Shear law:  v = T u + b,  T lower triangular with T_ii = exp(a_i), a_i = s tanh(A_i), and T_ij (j < i) the
 * further outputs of A as they are, row by row: (1,0), (2,0), (2,1), ...   logdet = sum_i a_i. */
#include <tgmath.h>

static const law_shape shear_shape = {
    .doc = "v = (L + diag exp(a)) u + b, L strictly lower triangular: adds shear",
    .has_scale = 1,
    .has_shift = 1};

LAW_FN int shear_outputs(const law_config *c, int m) {
    (void)c;
    return m + m * (m - 1) / 2;
}

/* Row i of the entries below the diagonal. */
LAW_FN int shear_row(int m, int i) {
    return m + i * (i - 1) / 2;
}

LAW_FN num shear_forward(const law_config *c, int m, const num *A, const num *b, num s, num *u_to_v) {
    (void)c;
    num logdet = 0;
    for (int i = m - 1; i >= 0; i--) { /* from the last: row i reads u_j of j < i, not yet overwritten */
        const num *row = A + shear_row(m, i);
        num a = s * tanh(A[i]), v = exp(a) * u_to_v[i] + b[i];
        for (int j = 0; j < i; j++) v += row[j] * u_to_v[j];
        u_to_v[i] = v;
        logdet += a;
    }
    return logdet;
}

LAW_FN num shear_inverse(const law_config *c, int m, const num *A, const num *b, num s, num *v_to_u) {
    (void)c;
    num logdet = 0;
    for (int i = 0; i < m; i++) {
        const num *row = A + shear_row(m, i);
        num a = s * tanh(A[i]), u = v_to_u[i] - b[i];
        for (int j = 0; j < i; j++) u -= row[j] * v_to_u[j];
        v_to_u[i] = u * exp(-a);
        logdet += a;
    }
    return logdet;
}

/* du = T^t dv;  dT_ij = dv_i u_j;  db = dv;  da_i = dT_ii T_ii + dl */
LAW_FN void shear_backward(const law_config *c, int m, const num *A, const num *b, num s, num *v, num *dv,
                           num dl, num *dA, num *db, num *ds) {
    shear_inverse(c, m, A, b, s, v);
    for (int i = 0; i < m; i++) db[i] = dv[i];
    for (int j = 0; j < m; j++) { /* upwards: column j reads dv_i of i > j, not yet overwritten */
        num t = tanh(A[j]), scale = exp(s * t), da = db[j] * v[j] * scale + dl, du = scale * db[j];
        for (int i = j + 1; i < m; i++) {
            du += A[shear_row(m, i) + j] * db[i];
            dA[shear_row(m, i) + j] = db[i] * v[j];
        }
        dA[j] = da * s * (1 - t * t);
        *ds += da * t;
        dv[j] = du;
    }
}
