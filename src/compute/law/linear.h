/* Linear law, shared:  v = L U u,  L lower triangular with ones on its diagonal, U upper triangular,
 *     A (m, m), row by row:   L_ij = A_ij (j < i),   U_ij = A_ij (j > i),   U_ii = exp(A_ii),   logdet =
 * sum_i A_ii. Both ways and both backward passes go along rows of A, so that what they read lies side by
 * side; in every loop the elements that are still to be read have not been overwritten yet. */
#include <tgmath.h>

static const law_shape linear_shape = {.doc = "v = L U u, the same for all samples"};

LAW_FN int linear_outputs(const law_config *c, int m) {
    (void)c;
    return m * m;
}

/* w = U u and v = L w, in place; the diagonal's logarithms are summed. */
LAW_FN num linear_upper(int m, const num *A, num *u) {
    num logdet = 0;
    for (int i = 0; i < m; i++) {
        const num *row = A + i * m;
        num w = exp(row[i]) * u[i];
        for (int j = i + 1; j < m; j++) w += row[j] * u[j];
        u[i] = w;
        logdet += row[i];
    }
    return logdet;
}

LAW_FN void linear_lower(int m, const num *A, num *w) {
    for (int i = m - 1; i > 0; i--)
        for (int j = 0; j < i; j++) w[i] += A[i * m + j] * w[j];
}

/* w = L^-1 v and u = U^-1 w, by substitution */
LAW_FN void linear_lower_inverse(int m, const num *A, num *v) {
    for (int i = 1; i < m; i++)
        for (int j = 0; j < i; j++) v[i] -= A[i * m + j] * v[j];
}

LAW_FN num linear_upper_inverse(int m, const num *A, num *w) {
    num logdet = 0;
    for (int i = m - 1; i >= 0; i--) {
        const num *row = A + i * m;
        num u = w[i];
        for (int j = i + 1; j < m; j++) u -= row[j] * w[j];
        w[i] = u * exp(-row[i]);
        logdet += row[i];
    }
    return logdet;
}

LAW_FN num linear_forward(const law_config *c, int m, const num *A, const num *b, num s, num *u_to_v) {
    (void)c, (void)b, (void)s;
    num logdet = linear_upper(m, A, u_to_v);
    linear_lower(m, A, u_to_v);
    return logdet;
}

LAW_FN num linear_inverse(const law_config *c, int m, const num *A, const num *b, num s, num *v_to_u) {
    (void)c, (void)b, (void)s;
    linear_lower_inverse(m, A, v_to_u);
    return linear_upper_inverse(m, A, v_to_u);
}

/* v = L w:  dL_ij += dv_i w_j,  dw = L^t dv.  w = U u:  dU_ij += dw_i u_j,  dA_ii += dw_i U_ii u_i + dl,  du
 * = U^t dw. */
LAW_FN void linear_backward(const law_config *c, int m, const num *A, const num *b, num s, num *v, num *dv,
                            num dl, num *dA, num *db, num *ds) {
    (void)c, (void)b, (void)s, (void)db, (void)ds;
    linear_lower_inverse(m, A, v);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < i; j++) {
            dA[i * m + j] += dv[i] * v[j];
            dv[j] += A[i * m + j] * dv[i];
        }
    linear_upper_inverse(m, A, v);
    for (int i = m - 1; i >= 0; i--) {
        num scaled = exp(A[i * m + i]) * dv[i];
        dA[i * m + i] += scaled * v[i] + dl;
        for (int j = i + 1; j < m; j++) {
            dA[i * m + j] += dv[i] * v[j];
            dv[j] += A[i * m + j] * dv[i];
        }
        dv[i] = scaled;
    }
}
