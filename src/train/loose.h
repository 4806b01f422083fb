/* Conditions whose y' the data cannot hold. */
#ifndef JF_TRAIN_LOOSE_H
#define JF_TRAIN_LOOSE_H

#include "train/train.h"

/* Warns of columns of y that have one value in nearly all rows, where y is part of the flow and has no noise.
 */
jf_status train_tell_loose(const model *m, const dataset *data);

#endif
