/* The gradient of a step is added up over the ranks while the backward pass is still at work: that of a layer as soon as the layer is
 * done, together with others until it is worth a message. What belongs to no layer comes last. */
#ifndef JF_TRAIN_OVERLAP_H
#define JF_TRAIN_OVERLAP_H

#include "model/model.h"
#include "ranks/behind.h"

typedef struct overlap overlap;

/* *out is NULL where it cannot be done, or has nothing to gain: the objective goes back more than once, the device has its numbers
 * elsewhere, there are few of them, or all ranks are on one machine and wait for no network. JOINTFLOW_OVERLAP=on or off, of
 * all ranks, decides otherwise; a number is on, with sums of at least so many bytes. */
jf_status overlap_create(overlap **out, ranks *r, const model *m);
void overlap_free(overlap *o);

/* Around the evaluation of a step's only slice, whose gradients `grad` (flat) holds alone. */
void overlap_begin(overlap *o, flow_run *run, float *grad);
jf_status overlap_end(overlap *o, flow_run *run);

#endif
