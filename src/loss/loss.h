/* Training objectives. Each evaluates one batch that lies in run->state, reports its terms, and, where
 * run->pass.grad is set, adds the gradient of the batch mean to it. A kind is one file and one line in
 * list.c. */
#ifndef JF_LOSS_LOSS_H
#define JF_LOSS_LOSS_H

#include "flow/flow.h"
#include "loss/terms.h"

typedef struct objective objective;

typedef struct objective_kind {
    const char *name, *summary;
    int from_data; /* batches are data (x, y); otherwise latent points */
    jf_status (*create)(objective *o, const recipe *r);
    /* run->state: the batch; afterwards the recovered batch if a gradient was taken. run->copy: the batch.
     * out: means over the batch. */
    void (*evaluate)(const objective *o, flow_run *run, int n, loss_terms *out);
} objective_kind;

/* A rule d(x) >= 0 and its gradient; r: the rule's size. */
typedef struct rule {
    const char *name, *formula;
    double (*distance)(const double x[2], double r, double gradient[2]);
} rule;
extern const rule rules[]; /* ends with a NULL name */
const rule *rule_find(const char *name);

struct objective {
    const objective_kind *kind;
    jf_context *ctx;
    double lambda;
    distance_kind distance;
    const rule *rule;
    double rule_size, confine;
};

extern const objective_kind *const objective_kinds[]; /* ends with NULL */

jf_status loss_declare(recipe *r); /* keys of [loss] */
jf_status loss_create(jf_context *ctx, objective *out, const recipe *r);

/* Mean of a device array (n), and the largest difference of two: the drift of inputs recovered by inverting.
 */
double loss_mean(flow_run *run, const real *values, int n);
double loss_drift(flow_run *run, int n);

#endif
