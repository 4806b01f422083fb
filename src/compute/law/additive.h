/* Additive law:  v = u + b,  logdet = 0, for each element: volumes stay as they are, and there is no network
 * A. */

static const law_shape additive_shape = {.doc = "v = u + b: translation alone, keeps volumes",
                                         .has_shift = 1};

LAW_FN int additive_outputs(const law_config *c, int m) {
    (void)c, (void)m;
    return 0;
}

LAW_FN num additive_forward(const law_config *c, const num *A, num b, num s, num *u_to_v) {
    (void)c, (void)A, (void)s;
    *u_to_v += b;
    return 0;
}

LAW_FN num additive_inverse(const law_config *c, const num *A, num b, num s, num *v_to_u) {
    (void)c, (void)A, (void)s;
    *v_to_u -= b;
    return 0;
}

/* du = dv;  db = dv */
LAW_FN void additive_backward(const law_config *c, const num *A, num b, num s, num *v, num *dv, num dl,
                              num *dA, num *db, num *ds) {
    (void)c, (void)A, (void)s, (void)dl, (void)dA, (void)ds;
    *v -= b;
    *db = *dv;
}
