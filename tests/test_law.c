/* The primitives' gradients against finite differences in double precision: laws and dense layers.
 * Each is run through the table of the reference device, which the other devices answer to. */
#include "compute/compute.h"
#include "flow_fixture.h"

#define MAX_M       5
#define MAX_OUTPUTS 128 /* of the law with most of them, for MAX_M elements */
#define SAMPLES     3
#define MAX_ROWS    (2 * SAMPLES)

/* L = w . out + c . logdet of one law on a few samples, of one row each or of two. */
typedef struct law_case {
    lab *l;
    law_config law;
    int m, rows, inverse;
    int element;                   /* for out_element() */
    size_t count, outputs, shifts; /* elements, and outputs of A and of B: of all rows, or (shared) one row */
    double A[MAX_ROWS * MAX_OUTPUTS], b[MAX_ROWS * MAX_M], s, in[MAX_ROWS * MAX_M];
    double w[MAX_ROWS * MAX_M], c[SAMPLES];
    double out[MAX_ROWS * MAX_M], logdet[SAMPLES];
} law_case;

static void copy_normal(double *to, size_t count, uint64_t seed) {
    double *values = draw_normal(count, 1, seed);
    memcpy(to, values, count * sizeof *to);
    free(values);
}

static law_case law_case_of(lab *l, law_id law, int m, int rows, int inverse) {
    law_case k = {.l = l, .law = law_with_defaults(law), .m = m, .rows = rows, .inverse = inverse, .s = 1.3};
    int sets = law_is_shared(law) ? 1 : SAMPLES * rows;
    k.count = (size_t)(SAMPLES * rows * m);
    k.outputs = (size_t)(sets * law_outputs(&k.law, m));
    k.shifts = (size_t)(sets * law_shifts(&k.law, m));
    CHECK(k.outputs <= MAX_ROWS * MAX_OUTPUTS);
    double *to[] = {k.A, k.b, k.in, k.w, k.c};
    size_t counts[] = {k.outputs, k.count, k.count, k.count, SAMPLES};
    for (int i = 0; i < 5; i++) copy_normal(to[i], counts[i], (uint64_t)(100 * law + 10 * m + i));
    return k;
}

static law_batch put_batch(const law_case *k) {
    return (law_batch){k->law,
                       SAMPLES,
                       k->m,
                       lab_put(k->l, k->A, k->outputs),
                       k->shifts ? lab_put(k->l, k->b, k->shifts) : NULL,
                       law_shape_of(k->law.id)->has_scale ? lab_put(k->l, &k->s, 1) : NULL,
                       k->rows};
}

static void apply(law_case *k, int inverse) {
    device *d = k->l->d;
    law_batch c = put_batch(k);
    real *state = lab_put(k->l, k->in, k->count), *logdet = lab_new(k->l, SAMPLES);
    (inverse ? d->kind->law_inverse : d->kind->law_forward)(d, &c, state, logdet);
    d->kind->get(d, k->out, state, k->count);
    d->kind->get(d, k->logdet, logdet, SAMPLES);
    lab_clear(k->l);
}

static double law_loss(void *arg) {
    law_case *k = arg;
    double sum = 0;
    apply(k, 0);
    for (size_t i = 0; i < k->count; i++) sum += k->w[i] * k->out[i];
    for (int i = 0; i < SAMPLES; i++) sum += k->c[i] * k->logdet[i];
    return sum;
}

static void check_law_gradient(law_case *k) {
    device *d = k->l->d;
    double out[MAX_ROWS * MAX_M], back[MAX_ROWS * MAX_M], du[MAX_ROWS * MAX_M], db[MAX_ROWS * MAX_M], ds;
    double dA[MAX_ROWS * MAX_OUTPUTS];
    law_loss(k);
    memcpy(out, k->out, sizeof out);
    law_batch c = put_batch(k);
    real *state = lab_put(k->l, out, k->count), *grad = lab_put(k->l, k->w, k->count);
    real *rA = lab_new(k->l, k->outputs), *rb = lab_new(k->l, k->shifts), *rs = lab_new(k->l, 1);
    d->kind->law_backward(d, &c, state, grad, lab_put(k->l, k->c, SAMPLES), rA, rb, rs);
    d->kind->get(d, back, state, k->count);
    d->kind->get(d, du, grad, k->count);
    d->kind->get(d, dA, rA, k->outputs);
    d->kind->get(d, db, rb, k->shifts);
    d->kind->get(d, &ds, rs, 1);
    lab_clear(k->l);
    CHECK_CLOSE(back, k->in, k->count, 1e-13);
    check_gradient("d input", k->in, k->count, du, law_loss, k, 1e-8);
    check_gradient("dA", k->A, k->outputs, dA, law_loss, k, 1e-8);
    check_gradient("db", k->b, k->shifts, db, law_loss, k, 1e-8);
    check_gradient("ds", &k->s, 1, &ds, law_loss, k, 1e-8);
}

static void for_all_laws(int inverse, void (*check)(law_case *k)) {
    lab *l = lab_open("ref", 1);
    for (int law = 0; law < law_count; law++)
        for (int m = 1; m <= MAX_M; m++)
            for (int rows = 1; rows <= 2; rows++) {
                law_case k = law_case_of(l, (law_id)law, m, rows, inverse);
                check(&k);
            }
    lab_close(l);
}

TEST(law__backward_is_the_gradient_of_forward) {
    for_all_laws(0, check_law_gradient);
}

static void check_round_trip(law_case *k) {
    double start[MAX_ROWS * MAX_M], logdet[SAMPLES];
    memcpy(start, k->in, sizeof start);
    apply(k, k->inverse);
    memcpy(logdet, k->logdet, sizeof logdet);
    CHECK(relative_error(k->out, start, k->count) > 0.1); /* something happened */
    memcpy(k->in, k->out, sizeof k->in);
    apply(k, !k->inverse);
    CHECK_CLOSE(k->out, start, k->count, 1e-13);
    CHECK_CLOSE(k->logdet, logdet, SAMPLES, 1e-14); /* of forward, both ways */
}

TEST(law__inverse_undoes_forward) {
    for_all_laws(0, check_round_trip);
}

TEST(law__forward_undoes_inverse) {
    for_all_laws(1, check_round_trip);
}

static double out_element(void *arg) {
    law_case *k = arg;
    apply(k, 0);
    return k->out[k->element];
}

/* Of the first sample: of its two rows the log-determinants add up. */
TEST(law__log_determinant_is_that_of_the_jacobian) {
    lab *l = lab_open("ref", 1);
    for (int law = 0; law < law_count; law++) {
        law_case k = law_case_of(l, (law_id)law, MAX_M, 2, 0);
        enum { BOTH = 2 * MAX_M };
        double J[BOTH * BOTH], below = 0, above = 0, across = 0;
        for (int i = 0; i < BOTH; i++)
            for (int j = 0; j < BOTH; j++) {
                k.element = i;
                double slope = J[i * BOTH + j] = slope_at(&k.in[j], out_element, &k);
                *(i / MAX_M != j / MAX_M ? &across
                  : j < i                ? &below
                  : j > i                ? &above
                                         : &J[i * BOTH + j]) += i == j ? 0 : fabs(slope);
            }
        CHECK_NEAR(k.logdet[0], log_determinant(J, BOTH),
                   law == law_spline ? 1e-5 : 1e-8); /* knots are steep */
        CHECK(across < 1e-8);                        /* rows have nothing to do with each other */
        CHECK(law == law_shear || law == law_linear ? below > 1 : below < 1e-8); /* these mix elements */
        CHECK(law == law_linear ? above > 1 : above < 1e-8);
    }
    lab_close(l);
}

/* Across all knots and beyond both ends, in float as in double: there and back, rising, and smooth at the
 * ends. */
TEST(law__spline_is_monotone_and_goes_on_as_the_identity) {
    enum { POINTS = 4000, BINS = 8, OUTPUTS = 3 * BINS - 1 };
    FOR_EACH_DEVICE (d) {
        lab *l = lab_open(device_kinds[d]->name, 1);
        const device_kind *kind = l->d->kind;
        law_config law = law_with_defaults(law_spline);
        double bound = law.hyper[1], A[OUTPUTS], u[POINTS], v[POINTS], back[POINTS];
        double *all = new_numbers(POINTS * OUTPUTS);
        copy_normal(A, OUTPUTS, 5);
        for (int i = 0; i < POINTS; i++) {
            memcpy(all + (size_t)i * OUTPUTS, A, sizeof A);
            u[i] = 1.4 * bound * (2.0 * i / (POINTS - 1) - 1);
        }
        law_batch b = {law, POINTS, 1, lab_put(l, all, POINTS * OUTPUTS), NULL, NULL, 1};
        real *state = lab_put(l, u, POINTS), *logdet = lab_new(l, POINTS);
        kind->law_forward(l->d, &b, state, logdet);
        kind->get(l->d, v, state, POINTS);
        kind->law_inverse(l->d, &b, state, logdet);
        kind->get(l->d, back, state, POINTS);
        for (int i = 0; i < POINTS; i++) {
            CHECK_NEAR(back[i], u[i], 1e-4);
            if (fabs(u[i]) >= bound) CHECK_NEAR(v[i], u[i], 1e-5);
            if (i > 0) CHECK(v[i] > v[i - 1] && v[i] - v[i - 1] < 200 * (u[i] - u[i - 1]));
        }
        free(all);
        lab_close(l);
    }
}

TEST(law__names_find_laws) {
    CHECK(law_find("affine") == law_affine && law_find("shear") == law_shear && law_find("nothing") == -1);
    for (int i = 0; i < law_count; i++) CHECK(law_find(law_name((law_id)i)) == i);
    for (int m = 1; m <= MAX_M; m++)
        for (int i = 0; i < law_count; i++) {
            law_config law = law_with_defaults((law_id)i);
            int expected = i == law_shear ? m * (m + 1) / 2 : i == law_affine ? m : law_outputs(&law, m);
            CHECK(law_outputs(&law, m) == expected && law_shifts(&law, m) % m == 0);
            int couples = i == law_shear || i == law_linear;
            CHECK(law_outputs_per_element(&law) == (couples ? -1 : law_outputs(&law, 1)));
        }
}

/* ---- dense layer ---- */

enum { IN = 4, OUT = 5 };

typedef struct layer_case {
    lab *l;
    double slope, x[SAMPLES * IN], w[IN * OUT], b[OUT], weights[SAMPLES * OUT], y[SAMPLES * OUT];
} layer_case;

static double layer_loss(void *arg) {
    layer_case *k = arg;
    device *d = k->l->d;
    real *y = lab_new(k->l, SAMPLES * OUT);
    d->kind->dense_forward(d, y, lab_put(k->l, k->x, SAMPLES * IN), lab_put(k->l, k->w, IN * OUT),
                           lab_put(k->l, k->b, OUT), SAMPLES, IN, OUT, k->slope);
    d->kind->get(d, k->y, y, SAMPLES * OUT);
    lab_clear(k->l);
    double sum = 0;
    for (int i = 0; i < SAMPLES * OUT; i++) sum += k->weights[i] * k->y[i];
    return sum;
}

TEST(dense__backward_is_the_gradient_of_forward) {
    layer_case k = {.l = lab_open("ref", 1)};
    device *d = k.l->d;
    for (int linear = 0; linear < 2; linear++) {
        k.slope = linear ? 1 : 0.3;
        copy_normal(k.x, SAMPLES * IN, 1);
        copy_normal(k.w, IN * OUT, 2);
        copy_normal(k.b, OUT, 3);
        copy_normal(k.weights, SAMPLES * OUT, 4);
        layer_loss(&k);
        int below = 0;
        for (int i = 0; i < SAMPLES * OUT; i++) below += k.y[i] < 0;
        CHECK(below > 2 && below < SAMPLES * OUT - 2); /* both sides of the kink */
        double dx[SAMPLES * IN], dw[IN * OUT], db[OUT];
        real *rx = lab_new(k.l, SAMPLES * IN), *rw = lab_new(k.l, IN * OUT), *rb = lab_new(k.l, OUT);
        d->kind->dense_backward(d, rx, rw, rb, lab_put(k.l, k.weights, SAMPLES * OUT),
                                lab_put(k.l, k.y, SAMPLES * OUT), lab_put(k.l, k.x, SAMPLES * IN),
                                lab_put(k.l, k.w, IN * OUT), SAMPLES, IN, OUT, k.slope);
        d->kind->get(d, dx, rx, SAMPLES * IN);
        d->kind->get(d, dw, rw, IN * OUT);
        d->kind->get(d, db, rb, OUT);
        lab_clear(k.l);
        check_gradient("dx", k.x, SAMPLES * IN, dx, layer_loss, &k, 1e-8);
        check_gradient("dw", k.w, IN * OUT, dw, layer_loss, &k, 1e-8);
        check_gradient("db", k.b, OUT, db, layer_loss, &k, 1e-8);
    }
    lab_close(k.l);
}
