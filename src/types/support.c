#include "types/support.h"
#include "base/normal.h"
#include "base/number.h"
#include <float.h>
#include <math.h>

column_support support_around_whole(const column_support *s) {
    int low = isfinite(s->lo), high = isfinite(s->hi);
    return (column_support){.kind = low && high ? SUPPORT_INTERVAL
                                    : low       ? SUPPORT_ABOVE
                                    : high      ? SUPPORT_BELOW
                                                : SUPPORT_LINE,
                            .lo = s->lo - 0.5,
                            .hi = s->hi + 0.5};
}

/* Wide enough for the roundings of a float. */
static double width_around(double constant) {
    return constant == 0 ? 1e-150 : fmax(ldexp(fabs(constant), -20), DBL_MIN);
}

double support_around_constant(const column_support *s, double share) {
    return s->lo + width_around(s->lo) * (share - 0.5);
}

static double clamp(double value, double lo, double hi) {
    return value < lo ? lo : value > hi ? hi : value;
}

/* Into one turn of the circle, from `from` on. */
static double wrap(double value, double from, double period) {
    double turned = value - period * floor((value - from) / period);
    return turned >= from + period || turned < from ? from : turned; /* what rounding made of the ends */
}

/* log(1 + exp(t)), without overflow */
static double softplus(double t) {
    return t > 0 ? t + log1p(exp(-t)) : log1p(exp(t));
}

/* Both count from the nearer bound, so that no digit is lost beside either. */
static double probit(double value, double lo, double hi) {
    double below = (value - lo) / (hi - lo), above = (hi - value) / (hi - lo);
    return below < above ? normal_quantile(fmax(below, SUPPORT_EDGE))
                         : -normal_quantile(fmax(above, SUPPORT_EDGE));
}
static double from_probit(double t, double lo, double hi) {
    return clamp(t > 0 ? hi - (hi - lo) * normal_below(-t) : lo + (hi - lo) * normal_below(t), lo, hi);
}

int support_is_valid(const column_support *s) {
    int low = isfinite(s->lo), high = isfinite(s->hi);
    switch (s->kind) {
    case SUPPORT_LINE:
        return 1;
    case SUPPORT_INTERVAL:
    case SUPPORT_UNIFORM:
    case SUPPORT_CUT:
        return low && high && s->lo < s->hi && isfinite(s->hi - s->lo);
    case SUPPORT_ABOVE:
        return low;
    case SUPPORT_BELOW:
        return high;
    case SUPPORT_CIRCLE:
        return low && high && s->lo < s->hi && isfinite(s->hi - s->lo) && isfinite(s->cut);
    case SUPPORT_CONSTANT:
        return low && s->lo == s->hi;
    case SUPPORT_WHOLE:
        return !isnan(s->lo) && !isnan(s->hi) && s->lo < s->hi && (!low || s->lo == floor(s->lo)) &&
               (!high || s->hi == floor(s->hi));
    default:
        return 0;
    }
}

int support_contains(const column_support *s, double value) {
    switch (s->kind) {
    case SUPPORT_INTERVAL:
    case SUPPORT_UNIFORM:
    case SUPPORT_CUT:
        return value >= s->lo && value <= s->hi;
    case SUPPORT_ABOVE:
        return value >= s->lo;
    case SUPPORT_BELOW:
        return value <= s->hi;
    case SUPPORT_CONSTANT:
        return fabs(value - s->lo) <= width_around(s->lo) / 2;
    case SUPPORT_WHOLE:
        return value == nearbyint(value) && value >= s->lo && value <= s->hi;
    default:
        return isfinite(value); /* a circle takes every angle */
    }
}

static int has_both_ends(const column_support *s) {
    return s->kind == SUPPORT_INTERVAL || s->kind == SUPPORT_UNIFORM || s->kind == SUPPORT_CUT;
}
int support_ends_below(const column_support *s) {
    return has_both_ends(s) || s->kind == SUPPORT_ABOVE;
}
int support_ends_above(const column_support *s) {
    return has_both_ends(s) || s->kind == SUPPORT_BELOW;
}

int support_is_cut(const column_support *s) {
    return s->kind == SUPPORT_CUT;
}

int support_is_beyond(const column_support *s, double t) {
    return support_is_cut(s) && !(t >= s->lo && t <= s->hi);
}

double support_to_line(const column_support *s, double value) {
    column_support room;
    double share;
    switch (s->kind) {
    case SUPPORT_INTERVAL:
        share = clamp((value - s->lo) / (s->hi - s->lo), SUPPORT_EDGE, 1 - SUPPORT_EDGE);
        return log(share) - log1p(-share);
    case SUPPORT_UNIFORM:
        return probit(value, s->lo, s->hi);
    case SUPPORT_ABOVE:
        return log(fmax(value - s->lo, SUPPORT_EDGE));
    case SUPPORT_BELOW:
        return -log(fmax(s->hi - value, SUPPORT_EDGE));
    case SUPPORT_CIRCLE:
        return wrap(value, s->cut, s->hi - s->lo);
    case SUPPORT_WHOLE:
        room = support_around_whole(s);
        return support_to_line(&room, value);
    case SUPPORT_CONSTANT:
        if (value == s->lo || !support_contains(s, value)) return 0;
        return probit((value - s->lo) / width_around(s->lo), -0.5, 0.5);
    default:
        return value;
    }
}

double support_from_line(const column_support *s, double t) {
    column_support room;
    double share;
    switch (s->kind) {
    case SUPPORT_INTERVAL:
        share = t > 0 ? 1 / (1 + exp(-t)) : exp(t) / (1 + exp(t));
        /* from the nearer bound, so that no digit is lost beside either */
        return clamp(t > 0 ? s->hi - (s->hi - s->lo) * (1 / (1 + exp(t))) : s->lo + (s->hi - s->lo) * share,
                     s->lo, s->hi);
    case SUPPORT_UNIFORM:
        return from_probit(t, s->lo, s->hi);
    case SUPPORT_CUT:
        return clamp(t, s->lo, s->hi);
    case SUPPORT_ABOVE:
        return fmax(s->lo + exp(t), s->lo);
    case SUPPORT_BELOW:
        return fmin(s->hi - exp(-t), s->hi);
    case SUPPORT_CIRCLE:
        return wrap(t, s->lo, s->hi - s->lo);
    case SUPPORT_WHOLE:
        room = support_around_whole(s);
        return clamp(nearbyint(support_from_line(&room, t)), s->lo, s->hi) + 0.0; /* -0 becomes 0 */
    case SUPPORT_CONSTANT:
        return s->lo;
    default:
        return t;
    }
}

double support_log_slope(const column_support *s, double t) {
    column_support room;
    switch (s->kind) {
    case SUPPORT_INTERVAL:
        return log(s->hi - s->lo) - softplus(t) - softplus(-t);
    case SUPPORT_UNIFORM:
        return log(s->hi - s->lo) - 0.5 * log(2 * M_PI) - t * t / 2;
    case SUPPORT_CONSTANT: /* p(t) of the constant is that of N(0, 1), and its probability is 1 */
        return -0.5 * log(2 * M_PI) - t * t / 2;
    case SUPPORT_ABOVE:
        return t;
    case SUPPORT_BELOW:
        return -t;
    case SUPPORT_WHOLE:
        room = support_around_whole(s);
        return support_log_slope(&room, t);
    default:
        return 0;
    }
}

const char *support_words(const column_support *s, char *out, size_t size) {
    char lo[NUMBER_SIZE], hi[NUMBER_SIZE];
    number_shortest(lo, s->lo);
    number_shortest(hi, s->hi);
    switch (s->kind) {
    case SUPPORT_INTERVAL:
    case SUPPORT_UNIFORM:
    case SUPPORT_CUT:
        format_text(out, size, "%s to %s", lo, hi);
        break;
    case SUPPORT_ABOVE:
        format_text(out, size, "above %s", lo);
        break;
    case SUPPORT_BELOW:
        format_text(out, size, "below %s", hi);
        break;
    case SUPPORT_CIRCLE:
        format_text(out, size, "a circle from %s to %s", lo, hi);
        break;
    case SUPPORT_WHOLE:
        format_text(out, size, "whole numbers from %s to %s", lo, hi);
        break;
    case SUPPORT_CONSTANT:
        format_text(out, size, "the constant %s", lo);
        break;
    default:
        format_text(out, size, "any number");
    }
    return out;
}
