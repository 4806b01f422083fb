/* What a Gaussian makes of a data set: the least that a flow has to beat. */
#ifndef JF_DATA_GAUSSIAN_H
#define JF_DATA_GAUSSIAN_H

#include "data/dataset.h"

/* A model whose loss is worse than the Gaussian's by more than this, in nats per element of x, has learned
 * nothing. Less may be chance, where the data are Gaussian themselves. */
#define GAUSSIAN_MARGIN 0.05

/* Mean of -log p(x), nats, standardised and noised as training does it (alpha: train.noise), of a Gaussian
 * that has mean and deviation of each element of x and knows nothing else:
 *     sum over x of  log(2 pi v)/2 + ((1 - alpha)^2 (x - mean)^2 + alpha^2)/(2 v),
 *     v = (1 - alpha)^2 var + alpha^2
 * Fitted to rows to train on, or to drawn points; the mean is over held-out rows where there are any. NAN
 * where an element is constant. */
jf_status dataset_gaussian(const dataset *d, double alpha, double *nats);

#endif
