/* Rational-quadratic spline: v is a monotone function of u on [-bound, bound], made of `bins` pieces, and v =
 * u beyond it.
 *
 * A gives, for each element, bins numbers for the widths of the pieces, as many for their heights, and bins -
 * 1 for the derivatives at the inner knots: widths and heights are softmaxes, derivatives softplus, 1 at both
 * ends. All of A = 0 is the identity. Within a piece of width w, height h, slope s = h/w and derivatives d0,
 * d1, with x = (u - left)/w, t = x(1 - x):
 *
 *     v      = bottom + h (s x^2 + d0 t) / (s + (d0 + d1 - 2s) t)
 *     dv/du  = s^2 (d1 x^2 + 2 s t + d0 (1 - x)^2) / (s + (d0 + d1 - 2s) t)^2
 *
 * The inverse is the root of a quadratic equation, in the form that loses no digits by cancellation. */
#include <tgmath.h>

#define SPLINE_MAX_BINS   32
#define SPLINE_LEAST_PART 1e-3 /* of a width or height, as a share of all */
#define SPLINE_LEAST_RISE 1e-3 /* of a derivative */

static const recipe_key spline_keys[] = {
    {"model", "bins", KEY_INT, "8", 2, SPLINE_MAX_BINS, NULL, "Pieces of the spline of each element."},
    {"model", "bound", KEY_REAL, "5", 0.1, 1000, NULL,
     "The spline spans -bound to bound, in the model's units; beyond it elements stay as they are."},
    {0},
};
static const law_shape spline_shape = {.doc = "a monotone rational-quadratic spline of each element",
                                       .keys = spline_keys};

LAW_FN int spline_bins(const law_config *c) {
    return (int)c->hyper[0];
}

LAW_FN int spline_outputs(const law_config *c, int m) {
    return m * (3 * spline_bins(c) - 1);
}

/* The piece that holds a number, and what its gradient takes to get back to A. */
typedef struct spline_piece {
    int k;
    num left, width, bottom, height, d0, d1;
} spline_piece;

/* The share of a number a among several is exp(a - most)/sum, with the largest of them and this sum. */
typedef struct spline_scale {
    num most, sum;
} spline_scale;

LAW_FN spline_scale spline_scale_of(int bins, const num *a) {
    spline_scale o = {a[0], 0};
    for (int i = 1; i < bins; i++)
        if (a[i] > o.most) o.most = a[i];
    for (int i = 0; i < bins; i++) o.sum += exp(a[i] - o.most);
    return o;
}

LAW_FN num spline_share(const spline_scale *o, num a) {
    return exp(a - o->most) / o->sum;
}

LAW_FN num spline_part(int bins, num bound, num share) {
    return 2 * bound * ((num)SPLINE_LEAST_PART + (1 - (num)SPLINE_LEAST_PART * (num)bins) * share);
}

/* Of what is added to A for a derivative of 1 at A = 0: softplus(it) = 1 - the least. */
#define SPLINE_LEVEL 0.539742417236952

LAW_FN num spline_derivative(int bins, const num *A, int knot) {
    if (knot == 0 || knot == bins) return 1;
    num a = A[2 * bins + knot - 1] + (num)SPLINE_LEVEL;
    return (num)SPLINE_LEAST_RISE + (a > 20 ? a : log1p(exp(a)));
}

/* The piece with `at` between its left and right (by = 0) or bottom and top (by = 1). */
LAW_FN spline_piece spline_find(const law_config *c, const num *A, num at, int by) {
    int bins = spline_bins(c);
    num bound = (num)c->hyper[1];
    spline_piece p = {0, -bound, 0, -bound, 0, 0, 0};
    spline_scale widths = spline_scale_of(bins, A), heights = spline_scale_of(bins, A + bins);
    for (;; p.k++) {
        p.width = spline_part(bins, bound, spline_share(&widths, A[p.k]));
        p.height = spline_part(bins, bound, spline_share(&heights, A[bins + p.k]));
        if (p.k + 1 == bins || at < (by ? p.bottom + p.height : p.left + p.width)) break;
        p.left += p.width;
        p.bottom += p.height;
    }
    p.d0 = spline_derivative(bins, A, p.k);
    p.d1 = spline_derivative(bins, A, p.k + 1);
    return p;
}

LAW_FN int spline_is_outside(const law_config *c, num at) {
    num bound = (num)c->hyper[1];
    return !(at > -bound && at < bound);
}

/* What all directions need at place x of a piece. */
typedef struct spline_terms {
    num s, t, top, bottom, slope; /* v = bottom of the piece + h top/bottom; dv/du = s^2 slope/bottom^2 */
} spline_terms;

LAW_FN spline_terms spline_at(const spline_piece *p, num x) {
    spline_terms e;
    e.s = p->height / p->width;
    e.t = x * (1 - x);
    e.top = e.s * x * x + p->d0 * e.t;
    e.bottom = e.s + (p->d0 + p->d1 - 2 * e.s) * e.t;
    e.slope = p->d1 * x * x + 2 * e.s * e.t + p->d0 * (1 - x) * (1 - x);
    return e;
}

LAW_FN num spline_logdet(const spline_terms *e) {
    return 2 * log(e->s) + log(e->slope) - 2 * log(e->bottom);
}

/* The place of v in its piece. */
LAW_FN num spline_place(const spline_piece *p, num v) {
    num s = p->height / p->width, y = v - p->bottom, curve = p->d0 + p->d1 - 2 * s;
    num a = p->height * (s - p->d0) + y * curve, b = p->height * p->d0 - y * curve, c = -s * y;
    num inside = b * b - 4 * a * c;
    num x = 2 * c / (-b - sqrt(inside > 0 ? inside : 0));
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

LAW_FN num spline_forward(const law_config *c, const num *A, num b, num s, num *u_to_v) {
    (void)b, (void)s;
    if (spline_is_outside(c, *u_to_v)) return 0;
    spline_piece p = spline_find(c, A, *u_to_v, 0);
    spline_terms e = spline_at(&p, (*u_to_v - p.left) / p.width);
    *u_to_v = p.bottom + p.height * e.top / e.bottom;
    return spline_logdet(&e);
}

LAW_FN num spline_inverse(const law_config *c, const num *A, num b, num s, num *v_to_u) {
    (void)b, (void)s;
    if (spline_is_outside(c, *v_to_u)) return 0;
    spline_piece p = spline_find(c, A, *v_to_u, 1);
    num x = spline_place(&p, *v_to_u);
    spline_terms e = spline_at(&p, x);
    *v_to_u = p.left + p.width * x;
    return spline_logdet(&e);
}

/* Derivatives at place x: of v and of the logdet with respect to x, s, d0 and d1. */
typedef struct spline_slopes {
    num v_x, v_s, v_d0, v_d1, l_x, l_s, l_d0, l_d1;
} spline_slopes;

LAW_FN spline_slopes spline_slopes_at(const spline_piece *p, const spline_terms *e, num x) {
    num turn = 1 - 2 * x, curve = p->d0 + p->d1 - 2 * e->s, over = p->height / (e->bottom * e->bottom);
    num bottom_x = curve * turn, bottom_s = 1 - 2 * e->t;
    spline_slopes o;
    o.v_x = over * ((2 * e->s * x + p->d0 * turn) * e->bottom - e->top * bottom_x);
    o.v_s = over * (x * x * e->bottom - e->top * bottom_s);
    o.v_d0 = over * (e->t * e->bottom - e->top * e->t);
    o.v_d1 = -over * e->top * e->t;
    o.l_x = (2 * p->d1 * x + 2 * e->s * turn - 2 * p->d0 * (1 - x)) / e->slope - 2 * bottom_x / e->bottom;
    o.l_s = 2 / e->s + 2 * e->t / e->slope - 2 * bottom_s / e->bottom;
    o.l_d0 = (1 - x) * (1 - x) / e->slope - 2 * e->t / e->bottom;
    o.l_d1 = x * x / e->slope - 2 * e->t / e->bottom;
    return o;
}

/* dA of shares from the gradients of parts: `before` of each part before k, `own` of part k, none of those
 * behind it. */
LAW_FN void spline_shares_back(int bins, num bound, const num *a, int k, num before, num own, num *da) {
    num scale = 2 * bound * (1 - (num)SPLINE_LEAST_PART * (num)bins), mean = 0;
    spline_scale of = spline_scale_of(bins, a);
    for (int i = 0; i < bins; i++) da[i] = spline_share(&of, a[i]);
    for (int i = 0; i <= k; i++) mean += da[i] * (i < k ? before : own);
    for (int i = 0; i < bins; i++) da[i] *= scale * ((i < k ? before : i == k ? own : 0) - mean);
}

/* dA of a number at place x of piece p, from the gradients of v and of the logdet. */
LAW_FN void spline_gradient(const law_config *c, const num *A, const spline_piece *p, const spline_terms *e,
                            const spline_slopes *o, num x, num dv, num dl, num *dA) {
    int bins = spline_bins(c);
    num bound = (num)c->hyper[1], g_x = dv * o->v_x + dl * o->l_x, g_s = dv * o->v_s + dl * o->l_s;
    num g_height = dv * e->top / e->bottom + g_s / p->width, g_width = -(g_x * x + g_s * e->s) / p->width;
    spline_shares_back(bins, bound, A, p->k, -g_x / p->width, g_width, dA);
    spline_shares_back(bins, bound, A + bins, p->k, dv, g_height, dA + bins);
    for (int i = 1; i < bins; i++) {
        num g = i == p->k ? dv * o->v_d0 + dl * o->l_d0 : i == p->k + 1 ? dv * o->v_d1 + dl * o->l_d1 : 0;
        dA[2 * bins + i - 1] = g / (1 + exp(-(A[2 * bins + i - 1] + (num)SPLINE_LEVEL)));
    }
}

LAW_FN void spline_nothing(const law_config *c, num *dA) {
    for (int i = 0; i < spline_outputs(c, 1); i++) dA[i] = 0;
}

LAW_FN void spline_backward(const law_config *c, const num *A, num b, num s, num *v, num *dv, num dl, num *dA,
                            num *db, num *ds) {
    (void)b, (void)s, (void)db, (void)ds;
    if (spline_is_outside(c, *v)) {
        spline_nothing(c, dA);
        return;
    }
    spline_piece p = spline_find(c, A, *v, 1);
    num x = spline_place(&p, *v);
    spline_terms e = spline_at(&p, x);
    spline_slopes o = spline_slopes_at(&p, &e, x);
    spline_gradient(c, A, &p, &e, &o, x, *dv, dl, dA);
    *v = p.left + p.width * x;
    *dv = (*dv * o.v_x + dl * o.l_x) / p.width;
}
