/* A curve blurred by Gaussian noise: nearly every toy shape is one. A single description draws its points and
 * gives its exact entropy, so that the two cannot disagree. */
#ifndef JF_DATA_CURVE_H
#define JF_DATA_CURVE_H

#include "base/context.h"
#include "base/random.h"

/* x = at(piece, t) + N(0, noise^2 I), the pieces equally likely, t ~ U(t_from, t_to). */
typedef struct blurred_curve {
    void (*at)(int piece, double t, double x[2]);
    int pieces;
    double t_from, t_to; /* equal where the pieces are points */
    double speed;        /* not less than |d at / dt| */
    double noise;
} blurred_curve;

void curve_draw(const blurred_curve *c, rng *stream, double x[2]);
/* H(x) in nats, to better than 1e-6. Time and memory grow as (extent / noise)^2. */
jf_status curve_entropy(jf_context *ctx, double *out, const blurred_curve *c);

#endif
