/* The support of a column: where its values can be, and the map from there to the whole line, on which a flow
 * works.
 *
 *     interval (lo, hi)   t = log((v - lo) / (hi - v))
 *     uniform (lo, hi)    t with P(Z < t) = (v - lo) / (hi - lo), Z ~ N(0, 1): what fills the interval evenly
 *                         becomes normal
 *     cut (lo, hi)        t = v: a flow on the line, of which only what lies inside counts; see
 *                         support_is_cut()
 *     above lo            t = log(v - lo)
 *     below hi            t = -log(hi - v)
 *     circle [lo, hi)     t = v, wrapped into one turn from `cut` on, where the data are fewest
 *     whole lo .. hi      whole numbers: v + U(-1/2, 1/2), then the interval or the half line around them, or
 *                         the line
 *     constant lo         one value: a uniform number around it stands for it, t as of the uniform interval;
 *                         other values: t = 0
 *
 * What comes back from the line lies in the support, whatever t is: samples never leave it. Beyond a cut
 * interval t comes back as the nearer bound, and has no density: samples from there are drawn again, and
 * densities divided by what is left. */
#ifndef JF_TYPES_SUPPORT_H
#define JF_TYPES_SUPPORT_H

#include <stddef.h>

typedef enum support_kind {
    SUPPORT_LINE,
    SUPPORT_INTERVAL,
    SUPPORT_ABOVE,
    SUPPORT_BELOW,
    SUPPORT_CIRCLE,
    SUPPORT_WHOLE,
    SUPPORT_UNIFORM, /* numbers of kinds are in model files: new ones come last */
    SUPPORT_CUT,
    SUPPORT_CONSTANT,
    SUPPORT_KINDS
} support_kind;

typedef struct column_support {
    support_kind kind;
    double lo, hi; /* bounds; of whole numbers they may be infinite, of a constant they are the same */
    double cut;    /* of a circle */
} column_support;

/* Values on a bound, which no map takes to a finite number, count as this share of the interval, or this
 * much, inside. */
#define SUPPORT_EDGE 1e-7

/* Around whole numbers there is half a step of room: the interval, half line or line of these. */
column_support support_around_whole(const column_support *s);
/* Around a constant there is an interval that holds its roundings and no other value; `share` from 0 to 1 is
 * a place in it. */
double support_around_constant(const column_support *s, double share);
int support_is_valid(const column_support *s); /* bounds in order, finite where they have to be */
int support_contains(const column_support *s, double value);
/* Whether there is a least value, and a greatest one, which values may come near to. */
int support_ends_below(const column_support *s);
int support_ends_above(const column_support *s);
/* Whether places of the line lie outside of it, which have to be drawn again; and whether t is one of these.
 */
int support_is_cut(const column_support *s);
int support_is_beyond(const column_support *s, double t);
double support_to_line(const column_support *s, double value);
double support_from_line(const column_support *s, double t); /* whole numbers are rounded */
/* log |dv/dt| at a place of the line: log p(v) = log p(t) - this. Whole numbers and constants have
 * probabilities instead of densities. */
double support_log_slope(const column_support *s, double t);
/* "0 to 1", "above 0", for messages */
const char *support_words(const column_support *s, char *out, size_t size);

#endif
