/* What the chain of a flow works on: the state (x, y) itself or, where y has an embedding E, (x, E(y)) in the
 * scratch of the pass. E(y) is made once for a pass, all couplings read it as the condition that none of them
 * moves, and in the backward pass the gradients that they leave there go through E once. */
#ifndef JF_FLOW_EMBEDDED_H
#define JF_FLOW_EMBEDDED_H

#include "flow/flow.h"

typedef struct inner_state {
    pass pass;            /* with the scratch that is left for the layers */
    real *state, *dstate; /* (n, chain_dim); dstate of the backward pass alone */
} inner_state;

/* Index maps and E, of a flow whose sizes are there. */
jf_status embedded_create(flow *f, const recipe *r, param_list *params, const char *prefix);
jf_status embedded_check_image(const recipe *r); /* refuses one where x is an image */
void embedded_free(flow *f);
/* Numbers of pass.work beside those of the layers. */
size_t embedded_workspace(const flow *f, int n, int backward);

/* Before and after the layers: x goes in and out, y stays as it is. */
inner_state embedded_enter(const flow *f, const pass *p, int n, real *state);
void embedded_leave(const flow *f, int n, const inner_state *c, real *state);
/* The same with gradients, after a pass of the same batch, whose E(y) lies in p->work. */
inner_state embedded_enter_back(const flow *f, const pass *p, int n, real *state, real *dstate);
void embedded_leave_back(const flow *f, int n, const inner_state *c, real *state, real *dstate);

#endif
