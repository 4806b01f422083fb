/* Which elements a coupling layer transforms: masks (layers, dim) of 0 (kept) and 1 (transformed). */
#ifndef JF_FLOW_MASKS_H
#define JF_FLOW_MASKS_H

#include "flow/transform.h"

#define MASKS_MAX_DIM 4096 /* elements of a vector */

/* Masks of vectors with dim_x + dim_y elements, in blocks of layers, random order from the seed:
 *   joint, up to 3 elements   one block = all 2^dim - 2 non-trivial masks (six of three, as in the paper)
 *   fixed, up to 3 elements   the masks that never transform y; of three elements each comes twice, so that a
 *                             block is as long
 *   more elements             one block = three complementary pairs of random halves (of x only, where y is
 *                             fixed)
 *   a flow of y               one block = one of y alone, then one of x as where y is fixed; a y of one
 *                             element is transformed as a whole
 * `*out` (layers, dim) is yours to free. */
jf_status masks_create(jf_context *ctx, uint8_t **out, int *layers, int dim_x, int dim_y,
                       condition_kind condition, int blocks, uint64_t seed);
/* Refuses masks, from a file, of a size that no flow has, or that transform y where it is fixed, or together
 * with x where it has a flow of its own. */
jf_status masks_check(jf_context *ctx, const uint8_t *masks, int layers, int dim_x, int dim_y,
                      condition_kind condition);

/* The step of mask `step`, which says what its coupling transforms; free with steps_free. Refuses a mask that
 * keeps or transforms everything, but for a y of one element that has a flow of its own: its step has no
 * source. y_read: of y only so many elements are read; 0: all. */
jf_status masks_step(jf_context *ctx, flow_steps *out, const uint8_t *masks, int step, int dim_x, int dim_y,
                     condition_kind condition, int y_read);

#endif
