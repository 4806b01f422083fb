/* A step of the optimiser as a device takes it, without asking the host: plain structs of doubles, which lie
 * among the scalars of a device, and the formulas that every device shares. */
#ifndef JF_COMPUTE_STEP_H
#define JF_COMPUTE_STEP_H

#include "base/formula.h"
#include <math.h>

/* The learning rate, a function of the number of steps alone. */
typedef struct rate_schedule {
    double base;
    double factor;      /* halved by every rollback of a run */
    double warmup;      /* steps over which the rate rises from zero at the start; 0: none */
    double decay_from;  /* steps done when the decay began, */
    double decay_steps; /* and steps that it lasts: to zero along a half cosine; 0: none */
} rate_schedule;

/* Of the step that follows `done` steps. */
FORMULA double rate_after(const rate_schedule *s, double done) {
    double rate = s->base * s->factor;
    if (done < s->warmup) rate *= (done + 1) / s->warmup;
    if (s->decay_steps > 0)
        rate *= 0.5 * (1 + cos(3.14159265358979323846 * (done - s->decay_from) / s->decay_steps));
    return rate;
}

/* Where an optimiser stands. */
typedef struct step_state {
    double done;  /* steps */
    double fault; /* number, from 1, of the first step whose loss or gradient was not finite; 0: none */
    double norm;  /* of the last gradient, before clipping */
    rate_schedule schedule;
} step_state;

/* Numbers of one step of Adam. */
typedef struct adam_numbers {
    double rate, beta1, beta2, epsilon;
    double gradient_scale; /* clipping: gradients are multiplied by this first */
    double decay;          /* of weights, per unit of the rate */
    double average;        /* the share that averaged parameters keep */
    double step;           /* 1 for the first */
} adam_numbers;

/* Whether a step is taken, and with which numbers: `out` comes with the constants and gets the others. A step
 * whose gradient (`squares`: sum of its squares) or loss (`terms`, all of which are looked at) is not finite
 * changes nothing, and neither does any step after it, so that it makes no difference when the host hears of
 * it. */
FORMULA int step_begin(step_state *s, double squares, const double *terms, int term_count, double clip,
                       adam_numbers *out) {
    if (s->fault > 0) return 0;
    int finite = isfinite(squares);
    for (int i = 0; i < term_count; i++) finite = finite && isfinite(terms[i]);
    s->norm = sqrt(squares);
    if (!finite) {
        s->fault = s->done + 1;
        return 0;
    }
    out->rate = rate_after(&s->schedule, s->done);
    out->gradient_scale = clip > 0 && s->norm > clip ? clip / s->norm : 1;
    out->step = ++s->done;
    if (out->average >
        0) { /* the first steps of a phase are far from where it leads: they count for little */
        double taken = s->done - s->schedule.decay_from, most = taken / (taken + 9);
        if (most < out->average) out->average = most;
    }
    return 1;
}

#endif
