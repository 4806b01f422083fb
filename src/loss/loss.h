/* Training objectives. Each evaluates one batch that lies in run->state, adds its terms to scalars of the
 * device and, where run->pass.grad is set, its gradient to that; nothing returns to the host. A kind is one
 * file and one line in list.c; what others have to know of it they ask its table, never its name. */
#ifndef JF_LOSS_LOSS_H
#define JF_LOSS_LOSS_H

#include "flow/flow.h"
#include "loss/terms.h"

typedef struct objective objective;

/* The distribution exp(-energy(x))/Z that an objective without data aims at. */
typedef struct objective_target {
    double (*energy)(const objective *o, const double *x);
    double (*log_normaliser)(
        const objective *o); /* log Z; not finite: not known, and then neither are these: */
    const char *(*radius_name)(const objective *o);
    double (*radius)(const objective *o, const double *x);
    double (*quantile)(const objective *o,
                       double q); /* the radius below which a share q of the target lies */
} objective_target;

typedef struct objective_kind {
    const char *name;
    const recipe_key *keys; /* its own keys of [loss]; NULL: none */
    /* Batches are data (x, y), otherwise latent points. The flow's forward direction is the way of the
     * batches: data -> latent, otherwise latent -> data. */
    int from_data;
    int has_condition;             /* there is a y */
    int dim_x;                     /* elements of x that it is for; 0: any number. Not 0 without data. */
    const char *about[TERM_COUNT]; /* what its terms are, where the words of LOSS_TERMS do not fit; or NULL */
    /* Optional. Reads the recipe into o->own, allocates on o->d, adds parameters named "loss.SOMETHING" to
     * `params`. */
    jf_status (*create)(objective *o, const recipe *r, param_list *params);
    /* Optional: gives back what o->own holds; o->own itself is given back by free(). */
    void (*free)(objective *o);
    /* Optional: a say in the masks, before the flow is made. *keep_y: none of them moves an element of y, as
     * model.condition asks; may be set, or refused. */
    jf_status (*limit_masks)(const objective *o, const recipe *r, int *keep_y);
    /* run->state: the batch; afterwards the recovered batch if a gradient was taken, otherwise what the flow
     * made of it. run->copy: the batch. run->logdet: of the flow's forward pass. Every sample counts
     * `weight`: 1/n for the mean of a batch. terms (TERM_COUNT): +=, but for the whole, which follows from
     * its parts (loss_terms_total). */
    void (*evaluate)(const objective *o, flow_run *run, int n, double weight, scalar *terms);
    /* Optional: the term y where y' is y itself, for a condition of dim_y elements; otherwise 0. */
    double (*y_at_best)(const objective *o, int dim_y);
    const objective_target *target; /* of objectives without data; NULL: nothing is known */
} objective_kind;

struct objective {
    const objective_kind *kind;
    jf_context *ctx;
    device *d;
    void *own; /* what the kind needs: numbers of the recipe, buffers, offsets of parameters */
};

extern const objective_kind *const objective_kinds[]; /* ends with NULL */
extern const objective_kind
    objective_condition_flow; /* joint is this where y has a flow of its own: in no list, it has no name */

jf_status loss_declare(recipe *r);                 /* keys of [loss] */
const objective_kind *loss_kind(const recipe *r);  /* what the recipe asks for, before anything is made */
const char *loss_summary(const objective_kind *k); /* a few words */
const char *loss_about(const objective_kind *k, term_id term);

/* Parameters are added to `params`, buffers live on `d`; both must outlive the objective. */
jf_status loss_create(jf_context *ctx, objective *out, const recipe *r, device *d, param_list *params);
jf_status loss_create_kind(jf_context *ctx, objective *out, const objective_kind *kind, const recipe *r,
                           device *d, param_list *params);
void loss_free(objective *o);
/* Refuses sizes that the objective cannot train. */
jf_status loss_check_shape(const objective *o, int dim_x, int dim_y);
/* Whether masks have to leave y alone: what the recipe asks for and the objective makes of it. */
jf_status loss_limit_masks(const objective *o, const recipe *r, int *keep_y);

double loss_y_at_best(const objective *o, int dim_y);

/* For kinds: terms[id] += weight times the sum of a device array (n). */
void loss_add_term(const flow_run *run, scalar *terms, term_id id, const real *values, int n, double weight);

#endif
