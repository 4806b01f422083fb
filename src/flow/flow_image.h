/* The coupling layers of an image flow: which elements of the state [h][w][c] each keeps and transforms.
 *
 * One block is four layers: checkerboard (keeps the pixels of even i + j), its complement, channelwise (keeps
 * even channels), its complement. After chosen blocks comes a squeeze: 2x2 space to depth, offset slow and
 * channel fast, of which the first half of the channels is finished and the second half goes on. Elements
 * never move: all of this is index maps into the state. */
#ifndef JF_FLOW_FLOW_IMAGE_H
#define JF_FLOW_FLOW_IMAGE_H

#include "flow/transform.h"
#include "types/image_size.h"

jf_status image_declare(recipe *r);                      /* model.squeeze */
jf_status image_check(jf_context *ctx, image_size size); /* refuses sizes that no flow has */
/* Whether they are taken for vectors: sides are odd, and the networks are of vectors. */
int image_is_vector(const recipe *r, image_size size);
/* A step for each coupling, in the order of the flow; free with steps_free. Refuses sizes that cannot be
 * halved. */
jf_status image_steps(jf_context *ctx, flow_steps *out, const recipe *r, image_size size,
                      condition_kind condition);

#endif
