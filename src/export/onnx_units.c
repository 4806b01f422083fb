/* Units of exported graphs. Each kind of support maps all elements at once, and a mask selects the results of
 * the elements of that kind. Elements of other kinds get placeholder constants. */
#include "base/normal.h"
#include "export/onnx_parts.h"
#include <float.h>
#include <math.h>

/* Elements as columns of constants. */
typedef struct columns {
    onnx_graph *g;
    const export_source *s;
    int first, count;
} columns;

typedef double (*column_number)(const export_source *s, int i);

typedef struct number_source {
    const columns *c;
    column_number of;
} number_source;

static double number_at(const void *with, size_t i) {
    const number_source *n = with;
    return n->of(n->c->s, n->c->first + (int)i);
}

static onnx_tensor numbers(const columns *c, column_number of) {
    return onnx_floats(c->g, 1, &c->count, number_at, &(number_source){c, of});
}

/* ---- numbers of an element ---- */

static double mean_of(const export_source *s, int i) {
    return s->m->units.mean[i];
}
static double deviation_of(const export_source *s, int i) {
    return s->m->units.deviation[i];
}
static column_support support_of(const export_source *s, int i) {
    int whole;
    return export_support(s, i, &whole);
}
static double lo_of(const export_source *s, int i) {
    column_support c = support_of(s, i);
    return c.kind == SUPPORT_LINE || c.kind == SUPPORT_BELOW ? 0 : c.lo;
}
static double hi_of(const export_source *s, int i) {
    column_support c = support_of(s, i);
    return c.kind == SUPPORT_LINE || c.kind == SUPPORT_ABOVE ? lo_of(s, i) + 1 : c.hi;
}
static double width_of(const export_source *s, int i) {
    return hi_of(s, i) - lo_of(s, i);
}
static double log_width_of(const export_source *s, int i) {
    support_kind kind = support_of(s, i).kind;
    return kind == SUPPORT_INTERVAL || kind == SUPPORT_UNIFORM ? log(width_of(s, i)) : 0;
}
static double cut_of(const export_source *s, int i) {
    return support_of(s, i).cut;
}
/* The least and greatest sample; whole numbers lie half a step inside their interval. */
static double least_of(const export_source *s, int i) {
    int whole;
    column_support c = export_support(s, i, &whole);
    return support_ends_below(&c) ? c.lo + 0.5 * whole : -FLT_MAX;
}
static double most_of(const export_source *s, int i) {
    int whole;
    column_support c = export_support(s, i, &whole);
    return support_ends_above(&c) ? c.hi - 0.5 * whole : FLT_MAX;
}

/* ---- kinds ---- */

static onnx_tensor softplus_of(const columns *c, onnx_tensor t) {
    return ONNX(c->g, "Softplus", t);
}

static onnx_tensor at_least(const columns *c, onnx_tensor t) {
    return ONNX(c->g, "Max", t, onnx_number(c->g, SUPPORT_EDGE));
}

/* Shares of the interval on both sides: 1 - share would lose its digits in float. */
static onnx_tensor share_below(const columns *c, onnx_tensor v) {
    return at_least(c, ONNX(c->g, "Div", ONNX(c->g, "Sub", v, numbers(c, lo_of)), numbers(c, width_of)));
}
static onnx_tensor share_above(const columns *c, onnx_tensor v) {
    return at_least(c, ONNX(c->g, "Div", ONNX(c->g, "Sub", numbers(c, hi_of), v), numbers(c, width_of)));
}

static onnx_tensor interval_to_line(const columns *c, onnx_tensor v) {
    return ONNX(c->g, "Sub", ONNX(c->g, "Log", share_below(c, v)), ONNX(c->g, "Log", share_above(c, v)));
}

/* from the nearer bound */
static onnx_tensor interval_from_line(const columns *c, onnx_tensor t) {
    onnx_graph *g = c->g;
    onnx_tensor width = numbers(c, width_of), is_high = ONNX(g, "Greater", t, onnx_number(g, 0));
    onnx_tensor up = ONNX(g, "Add", numbers(c, lo_of), ONNX(g, "Mul", width, ONNX(g, "Sigmoid", t)));
    onnx_tensor down =
        ONNX(g, "Sub", numbers(c, hi_of), ONNX(g, "Mul", width, ONNX(g, "Sigmoid", ONNX(g, "Neg", t))));
    return ONNX(g, "Where", is_high, down, up);
}

static onnx_tensor interval_log_slope(const columns *c, onnx_tensor t) {
    onnx_graph *g = c->g;
    onnx_tensor both = ONNX(g, "Add", softplus_of(c, t), softplus_of(c, ONNX(g, "Neg", t)));
    return ONNX(g, "Sub", numbers(c, log_width_of), both);
}

/* The quantile of the share, without its last step, for which a float has no digits (base/normal.h). */
static onnx_tensor uniform_to_line(const columns *c, onnx_tensor v) {
    onnx_graph *g = c->g;
    onnx_tensor below = share_below(c, v), above = share_above(c, v);
    onnx_tensor product = ONNX(g, "Mul", onnx_number(g, 4), ONNX(g, "Mul", below, above));
    onnx_tensor root =
        ONNX(g, "Sqrt", ONNX(g, "Sub", onnx_number(g, NORMAL_ORIGIN), ONNX(g, "Log", product)));
    onnx_tensor s =
        ONNX(g, "Div", ONNX(g, "Sub", root, onnx_number(g, NORMAL_CENTRE)), onnx_number(g, NORMAL_RADIUS));
    onnx_tensor sum = onnx_number(g, normal_terms[NORMAL_TERMS - 1]);
    for (int k = NORMAL_TERMS - 1; k-- > 0;)
        sum = ONNX(g, "Add", ONNX(g, "Mul", sum, s), onnx_number(g, normal_terms[k]));
    return ONNX(g, "Mul", ONNX(g, "Div", ONNX(g, "Sub", below, above), onnx_number(g, 2)), sum);
}

static onnx_tensor uniform_from_line(const columns *c, onnx_tensor t) {
    onnx_graph *g = c->g;
    onnx_tensor erf = ONNX(g, "Erf", ONNX(g, "Mul", t, onnx_number(g, M_SQRT1_2)));
    onnx_tensor share = ONNX(g, "Div", ONNX(g, "Add", erf, onnx_number(g, 1)), onnx_number(g, 2));
    return ONNX(g, "Add", numbers(c, lo_of), ONNX(g, "Mul", numbers(c, width_of), share));
}

static onnx_tensor uniform_log_slope(const columns *c, onnx_tensor t) {
    onnx_graph *g = c->g;
    onnx_tensor half = ONNX(g, "Div", ONNX(g, "Mul", t, t), onnx_number(g, 2));
    return ONNX(g, "Sub", numbers(c, log_width_of),
                ONNX(g, "Add", half, onnx_number(g, 0.5 * log(2 * M_PI))));
}

static onnx_tensor constant_to_line(const columns *c, onnx_tensor v) {
    return ONNX(c->g, "Mul", v, onnx_number(c->g, 0));
}
static onnx_tensor constant_from_line(const columns *c, onnx_tensor t) {
    return ONNX(c->g, "Add", ONNX(c->g, "Mul", t, onnx_number(c->g, 0)), numbers(c, lo_of));
}

static onnx_tensor above_to_line(const columns *c, onnx_tensor v) {
    return ONNX(c->g, "Log", at_least(c, ONNX(c->g, "Sub", v, numbers(c, lo_of))));
}
static onnx_tensor above_from_line(const columns *c, onnx_tensor t) {
    return ONNX(c->g, "Add", numbers(c, lo_of), ONNX(c->g, "Exp", t));
}
static onnx_tensor above_log_slope(const columns *c, onnx_tensor t) {
    return ONNX(c->g, "Identity", t);
}

static onnx_tensor below_to_line(const columns *c, onnx_tensor v) {
    return ONNX(c->g, "Neg", ONNX(c->g, "Log", at_least(c, ONNX(c->g, "Sub", numbers(c, hi_of), v))));
}
static onnx_tensor below_from_line(const columns *c, onnx_tensor t) {
    return ONNX(c->g, "Sub", numbers(c, hi_of), ONNX(c->g, "Exp", ONNX(c->g, "Neg", t)));
}
static onnx_tensor below_log_slope(const columns *c, onnx_tensor t) {
    return ONNX(c->g, "Neg", t);
}

/* Into one turn from `from` on; what rounding made of its ends is its beginning. */
static onnx_tensor wrap(const columns *c, onnx_tensor v, column_number from) {
    onnx_graph *g = c->g;
    onnx_tensor start = numbers(c, from), period = numbers(c, width_of);
    onnx_tensor turns = ONNX(g, "Floor", ONNX(g, "Div", ONNX(g, "Sub", v, start), period));
    onnx_tensor turned = ONNX(g, "Sub", v, ONNX(g, "Mul", period, turns));
    onnx_tensor over = ONNX(g, "GreaterOrEqual", turned, ONNX(g, "Add", start, period));
    onnx_tensor out = ONNX(g, "Or", over, ONNX(g, "Less", turned, start));
    return ONNX(g, "Where", out, start, turned);
}
static onnx_tensor circle_to_line(const columns *c, onnx_tensor v) {
    return wrap(c, v, cut_of);
}
static onnx_tensor circle_from_line(const columns *c, onnx_tensor t) {
    return wrap(c, t, lo_of);
}

typedef onnx_tensor (*column_map)(const columns *c, onnx_tensor t);
typedef struct support_maps {
    column_map to_line, from_line, log_slope; /* NULL: as it is, or 0 */
} support_maps;

static const support_maps maps[SUPPORT_KINDS] = {
    [SUPPORT_INTERVAL] = {interval_to_line, interval_from_line, interval_log_slope},
    [SUPPORT_ABOVE] = {above_to_line, above_from_line, above_log_slope},
    [SUPPORT_BELOW] = {below_to_line, below_from_line, below_log_slope},
    [SUPPORT_UNIFORM] = {uniform_to_line, uniform_from_line, uniform_log_slope},
    [SUPPORT_CIRCLE] = {circle_to_line, circle_from_line, NULL},
    [SUPPORT_CONSTANT] = {constant_to_line, constant_from_line, uniform_log_slope},
};

/* ---- all of them ---- */

/* Elements of a kind of support, or those that are whole numbers. */
typedef struct selection {
    const columns *c;
    support_kind kind;
    int whole; /* those, of any kind */
} selection;

static int is_selected(const void *with, size_t i) {
    const selection *q = with;
    int whole;
    column_support found = export_support(q->c->s, q->c->first + (int)i, &whole);
    return q->whole ? whole : found.kind == q->kind;
}

static int is_any(const selection *q) {
    int found = 0;
    for (int i = 0; i < q->c->count; i++) found |= is_selected(q, (size_t)i);
    return found;
}

/* `t` with the selected elements replaced by others. */
static onnx_tensor replace(const selection *q, onnx_tensor t, onnx_tensor by) {
    const columns *c = q->c;
    return ONNX(c->g, "Where", onnx_mask(c->g, c->count, is_selected, q), by, t);
}

onnx_tensor onnx_to_model(onnx_graph *g, const export_source *s, int first, int count, onnx_tensor values) {
    const columns c = {g, s, first, count};
    onnx_tensor t = values;
    for (int kind = 0; kind < SUPPORT_KINDS; kind++) {
        selection q = {&c, (support_kind)kind, 0};
        if (maps[kind].to_line && is_any(&q)) t = replace(&q, t, maps[kind].to_line(&c, values));
    }
    return ONNX(g, "Div", ONNX(g, "Sub", t, numbers(&c, mean_of)), numbers(&c, deviation_of));
}

static onnx_tensor on_the_line(const columns *c, onnx_tensor values) {
    return ONNX(c->g, "Add", ONNX(c->g, "Mul", values, numbers(c, deviation_of)), numbers(c, mean_of));
}

onnx_tensor onnx_to_data(onnx_graph *g, const export_source *s, int first, int count, onnx_tensor values) {
    const columns c = {g, s, first, count};
    const selection whole = {&c, SUPPORT_LINE, 1};
    onnx_tensor line = on_the_line(&c, values), out = line;
    if (!export_has_supports(s)) return out;
    for (int kind = 0; kind < SUPPORT_KINDS; kind++) {
        selection q = {&c, (support_kind)kind, 0};
        if (maps[kind].from_line && is_any(&q)) out = replace(&q, out, maps[kind].from_line(&c, line));
    }
    if (is_any(&whole)) out = replace(&whole, out, ONNX(g, "Round", out));
    return ONNX(g, "Min", ONNX(g, "Max", out, numbers(&c, least_of)), numbers(&c, most_of));
}

int onnx_log_slopes(onnx_graph *g, const export_source *s, onnx_tensor x, onnx_tensor *out) {
    const columns c = {g, s, 0, s->dim_x};
    onnx_tensor line = on_the_line(&c, x), slopes = ONNX(g, "Mul", line, onnx_number(g, 0));
    int found = 0;
    for (int kind = 0; kind < SUPPORT_KINDS; kind++) {
        selection q = {&c, (support_kind)kind, 0};
        if (!maps[kind].log_slope || !is_any(&q)) continue;
        slopes = replace(&q, slopes, maps[kind].log_slope(&c, line));
        found = 1;
    }
    if (found) *out = onnx_sum(g, slopes, 1, 1);
    return found;
}
