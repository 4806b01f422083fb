/* The gradient of a step is added up over the ranks while the backward pass is still at work: that of a layer as soon as the layer is
 * done, together with others until it is worth a message. What belongs to no layer comes last. */
#ifndef JF_TRAIN_OVERLAP_H
#define JF_TRAIN_OVERLAP_H

#include "model/model.h"
#include "ranks/behind.h"

typedef struct overlap overlap;

/* What JOINTFLOW_OVERLAP says, the same on all ranks: on, off, or on with sums of at least so many bytes. Without it sums are taken
 * beside the pass unless all ranks are on one machine and wait for no network. */
typedef struct overlap_wish {
    size_t least; /* bytes of a sum; 0: sums come after the pass */
    int asked;    /* it was asked for */
} overlap_wish;
jf_status overlap_read_wish(ranks *r, jf_context *ctx, overlap_wish *out);

/* *out is NULL where it cannot be done, is not wanted, or has nothing to gain: the objective goes back more than once, the device has its
 * numbers elsewhere, there are few of them. least: of the wish. */
jf_status overlap_create(overlap **out, ranks *r, const model *m, size_t least);
void overlap_free(overlap *o);

/* Around the evaluation of a step's only slice, whose gradients `grad` (flat) holds alone. */
void overlap_begin(overlap *o, flow_run *run, float *grad);
jf_status overlap_end(overlap *o, flow_run *run);

#endif
