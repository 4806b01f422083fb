/* Laws of couplings as graphs. */
#include "export/onnx_parts.h"

static onnx_tensor add_number(onnx_graph *g, onnx_tensor t, double value) {
    return ONNX(g, "Add", t, onnx_number(g, value));
}
static onnx_tensor times(onnx_graph *g, onnx_tensor t, double value) {
    return ONNX(g, "Mul", t, onnx_number(g, value));
}

static void set_logdet(onnx_graph *g, onnx_law_call *c, onnx_tensor of_each) {
    c->logdet = onnx_sum(g, of_each, 1, 1);
    c->has_logdet = 1;
}

/* v = u + b */
static onnx_tensor additive(onnx_graph *g, onnx_law_call *c, onnx_tensor u) {
    return ONNX(g, c->inverse ? "Sub" : "Add", u, c->b);
}

/* a = s tanh(A) */
static onnx_tensor exponent(onnx_graph *g, const onnx_law_call *c, onnx_tensor A) {
    return times(g, ONNX(g, "Tanh", A), c->s);
}

/* v = exp(a) u + b */
static onnx_tensor affine(onnx_graph *g, onnx_law_call *c, onnx_tensor u) {
    onnx_tensor a = exponent(g, c, c->A);
    set_logdet(g, c, a);
    if (c->inverse) return ONNX(g, "Mul", ONNX(g, "Sub", u, c->b), ONNX(g, "Exp", ONNX(g, "Neg", a)));
    return ONNX(g, "Add", ONNX(g, "Mul", ONNX(g, "Exp", a), u), c->b);
}

/* v_i = exp(a_i) u_i + b_i + sum over j < i of T_ij u_j, the T_ij row by row behind the a. In the inverse
 * every u_j is there when row i needs it; the graph has the rows one by one. */
static onnx_tensor shear(onnx_graph *g, onnx_law_call *c, onnx_tensor u) {
    onnx_tensor a = exponent(g, c, onnx_slice(g, c->A, 1, 0, c->m)), done = u;
    onnx_tensor scale = ONNX(g, "Exp", c->inverse ? ONNX(g, "Neg", a) : a);
    set_logdet(g, c, a);
    for (int i = 0; i < c->m; i++) {
        int row = c->m + i * (i - 1) / 2;
        onnx_tensor ui = onnx_slice(g, u, 1, i, i + 1), shift = onnx_slice(g, c->b, 1, i, i + 1);
        onnx_tensor factor = onnx_slice(g, scale, 1, i, i + 1), v;
        if (i > 0) {
            onnx_tensor before = c->inverse ? done : onnx_slice(g, u, 1, 0, i);
            onnx_tensor products = ONNX(g, "Mul", onnx_slice(g, c->A, 1, row, row + i), before);
            shift = ONNX(g, "Add", shift, onnx_sum(g, products, 1, 1));
        }
        if (c->inverse)
            v = ONNX(g, "Mul", ONNX(g, "Sub", ui, shift), factor);
        else
            v = ONNX(g, "Add", ONNX(g, "Mul", factor, ui), shift);
        done = i == 0 ? v : onnx_concat(g, 2, (onnx_tensor[]){done, v}, 1);
    }
    return done;
}

/* ---- the spline: as compute/law/spline.h has it, with the piece of each element picked out of all of them
 * ---- */

#define LEAST_PART 1e-3
#define LEAST_RISE 1e-3
#define LEVEL      0.539742417236952

/* The whole of 2 bound in parts (N, m, bins): a softmax, each with its least part. */
static onnx_tensor spline_parts(onnx_graph *g, const onnx_law_call *c, onnx_tensor numbers) {
    double bins = c->law->hyper[0], bound = c->law->hyper[1];
    onnx_tensor shares = onnx_node(g, "Softmax", 1, &numbers, 1,
                                   &(onnx_attribute){.name = "axis", .type = ONNX_INT, .whole = 2});
    return add_number(g, times(g, shares, 2 * bound * (1 - LEAST_PART * bins)), 2 * bound * LEAST_PART);
}

/* A piece: of each element the numbers of the one that holds it, (N, m). */
typedef struct spline_piece {
    onnx_tensor left, width, bottom, height, d0, d1;
} spline_piece;

static onnx_tensor pick(onnx_graph *g, onnx_tensor all, onnx_tensor is_it) {
    return onnx_sum(g, ONNX(g, "Mul", all, is_it), 2, 0);
}

/* (N, m, bins): 1 for the piece that holds the element, 0 for the others. All that begin at or before it less
 * those that follow one of them; the first has no beginning and the last no end, as beyond the bound nothing
 * is taken from here. */
static onnx_tensor spline_choice(onnx_graph *g, const onnx_law_call *c, onnx_tensor starts, onnx_tensor u) {
    int bins = (int)c->law->hyper[0];
    onnx_tensor inner = onnx_slice(g, starts, 2, 1, bins);
    onnx_tensor beyond = ONNX(g, "GreaterOrEqual", onnx_reshape(g, u, 3, (int[]){0, c->m, 1}), inner);
    onnx_tensor one = onnx_number(g, 1), none = onnx_number(g, 0),
                is_beyond = ONNX(g, "Where", beyond, one, none);
    return ONNX(g, "Sub", onnx_pad_last(g, is_beyond, 3, 1, 0, 1), onnx_pad_last(g, is_beyond, 3, 0, 1, 0));
}

static spline_piece spline_find(onnx_graph *g, const onnx_law_call *c, onnx_tensor u) {
    int bins = (int)c->law->hyper[0];
    double bound = c->law->hyper[1];
    onnx_tensor widths = spline_parts(g, c, onnx_slice(g, c->A, 2, 0, bins));
    onnx_tensor heights = spline_parts(g, c, onnx_slice(g, c->A, 2, bins, 2 * bins));
    onnx_tensor lefts = add_number(g, onnx_sum_before(g, widths, 2), -bound);
    onnx_tensor bottoms = add_number(g, onnx_sum_before(g, heights, 2), -bound);
    onnx_tensor inner = add_number(g, onnx_slice(g, c->A, 2, 2 * bins, 3 * bins - 1), LEVEL);
    onnx_tensor rises = onnx_pad_last(g, add_number(g, ONNX(g, "Softplus", inner), LEAST_RISE), 3, 1, 1, 1);
    onnx_tensor is_it = spline_choice(g, c, c->inverse ? bottoms : lefts, u);
    return (spline_piece){.left = pick(g, lefts, is_it),
                          .width = pick(g, widths, is_it),
                          .bottom = pick(g, bottoms, is_it),
                          .height = pick(g, heights, is_it),
                          .d0 = pick(g, onnx_slice(g, rises, 2, 0, bins), is_it),
                          .d1 = pick(g, onnx_slice(g, rises, 2, 1, bins + 1), is_it)};
}

/* The place of v in its piece: the root of a quadratic equation. curve = d0 + d1 - 2s */
static onnx_tensor spline_place(onnx_graph *g, const spline_piece *p, onnx_tensor s, onnx_tensor curve,
                                onnx_tensor v) {
    onnx_tensor y = ONNX(g, "Sub", v, p->bottom), bent = ONNX(g, "Mul", y, curve), sy = ONNX(g, "Mul", s, y);
    onnx_tensor a = ONNX(g, "Add", ONNX(g, "Mul", p->height, ONNX(g, "Sub", s, p->d0)), bent);
    onnx_tensor b = ONNX(g, "Sub", ONNX(g, "Mul", p->height, p->d0), bent);
    onnx_tensor inside = ONNX(g, "Add", ONNX(g, "Mul", b, b), times(g, ONNX(g, "Mul", a, sy), 4));
    onnx_tensor root = ONNX(g, "Sqrt", ONNX(g, "Max", inside, onnx_number(g, 0)));
    onnx_tensor x = ONNX(g, "Div", times(g, sy, 2), ONNX(g, "Add", b, root));
    return ONNX(g, "Min", ONNX(g, "Max", x, onnx_number(g, 0)), onnx_number(g, 1));
}

/* log dv/du = 2 log s + log(d1 x^2 + 2 s t + d0 (1 - x)^2) - 2 log(s + curve t) */
static onnx_tensor spline_logdet(onnx_graph *g, const spline_piece *p, onnx_tensor s, onnx_tensor x,
                                 onnx_tensor t, onnx_tensor below) {
    onnx_tensor rest = ONNX(g, "Sub", onnx_number(g, 1), x);
    onnx_tensor one = ONNX(g, "Mul", p->d1, ONNX(g, "Mul", x, x)), two = times(g, ONNX(g, "Mul", s, t), 2);
    onnx_tensor three = ONNX(g, "Mul", p->d0, ONNX(g, "Mul", rest, rest));
    onnx_tensor slope = ONNX(g, "Log", ONNX(g, "Add", ONNX(g, "Add", one, two), three));
    onnx_tensor ratio = ONNX(g, "Log", ONNX(g, "Div", s, below));
    return ONNX(g, "Add", slope, times(g, ratio, 2));
}

static onnx_tensor spline(onnx_graph *g, onnx_law_call *c, onnx_tensor u) {
    spline_piece p = spline_find(g, c, u);
    onnx_tensor s = ONNX(g, "Div", p.height, p.width);
    onnx_tensor curve = ONNX(g, "Sub", ONNX(g, "Add", p.d0, p.d1), times(g, s, 2)), x, v;
    if (c->inverse)
        x = spline_place(g, &p, s, curve, u);
    else
        x = ONNX(g, "Div", ONNX(g, "Sub", u, p.left), p.width);
    onnx_tensor t = ONNX(g, "Mul", x, ONNX(g, "Sub", onnx_number(g, 1), x));
    onnx_tensor below = ONNX(g, "Add", s, ONNX(g, "Mul", curve, t));
    if (c->inverse) {
        v = ONNX(g, "Add", p.left, ONNX(g, "Mul", p.width, x));
    } else {
        onnx_tensor top = ONNX(g, "Add", ONNX(g, "Mul", s, ONNX(g, "Mul", x, x)), ONNX(g, "Mul", p.d0, t));
        v = ONNX(g, "Add", p.bottom, ONNX(g, "Div", ONNX(g, "Mul", p.height, top), below));
    }
    onnx_tensor inside = ONNX(g, "Less", ONNX(g, "Abs", u), onnx_number(g, c->law->hyper[1]));
    set_logdet(g, c, ONNX(g, "Where", inside, spline_logdet(g, &p, s, x, t, below), onnx_number(g, 0)));
    return ONNX(g, "Where", inside, v, u);
}

onnx_law onnx_law_find(law_id law) {
    static const onnx_law laws[law_count] = {
        [law_affine] = affine, [law_shear] = shear, [law_additive] = additive, [law_spline] = spline};
    return laws[law];
}
