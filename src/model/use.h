/* Running a trained model on any number of rows in host memory, model units, a chunk at a time. */
#ifndef JF_MODEL_USE_H
#define JF_MODEL_USE_H

#include "model/model.h"

#define MODEL_CHUNK 1000 /* at most */

/* state (n, dim) in place; logdet (n) of data -> latent, may be NULL. A result that is not finite is an
 * error. */
jf_status model_forward(const model *m, long n, double *state, double *logdet);
jf_status model_inverse(const model *m, long n, double *state, double *logdet);
/* The objective's terms, means over the rows: state holds data and becomes their encoding, as by model_forward, or, for
 * objectives without data, latent points and becomes their decoding. */
jf_status model_evaluate(const model *m, long n, double *state, double *logdet, loss_terms *terms);
int model_chunk(const model *m, long n); /* rows that go through together: n, or as many as have room */
/* z of the latent stream (seed, first + i) into the x elements of state (n, dim). */
void model_draw_latent(const model *m, uint64_t seed, uint64_t first, long n, double *state);

#endif
