/* What the likelihoods of data share: everything but the term that holds y' at y. */
#ifndef JF_LOSS_LIKELIHOOD_H
#define JF_LOSS_LIKELIHOOD_H

#include "loss/loss.h"

/* -log p_Y'(F_Y') of a sample: weight * d(F_Y', y) + constant, d summed over the elements of y. */
typedef struct y_term {
    distance_kind distance;
    double weight, constant;
} y_term;

/* L = E[ -log p_Z(F_Z(x,y)) - log p_Y'(F_Y'(x,y)) - log|det J_F(x,y)| ]; `y` is not looked at where there is
 * no y. */
void likelihood_evaluate(flow_run *run, int n, const y_term *y, double weight, scalar *terms);

#endif
