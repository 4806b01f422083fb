/* Answers along lines in z and in y; any model. Of the options: the seed, the units of x and y, and whether
 * lines in z are straight. */
#ifndef JF_INFERENCE_LINES_H
#define JF_INFERENCE_LINES_H

#include "jointflow/jointflow.h"
#include "model/use.h"

/* Lines in z at fixed y (conditions, dim_y): for each pair of latent points a row for each condition. From z1
 * to z2 it goes by a quarter turn, cos(t) z1 + sin(t) z2: every point of it is itself a draw of the prior,
 * whereas those of a straight line, (1 - t) z1 + t z2 as in the paper, are nearer to 0 than samples are. */
jf_status lines_along_z(const model *m, jf_lines *out, size_t lines, size_t steps, size_t conditions,
                        const double *y, const jf_use_options *o);
/* Straight lines in y, between and beyond conditions of the data, at fixed latent points; from, to: (dim_y).
 */
jf_status lines_along_y(const model *m, jf_lines *out, size_t lines, size_t steps, const double *from,
                        const double *to, const jf_use_options *o);
/* Any way in y (steps, dim_y), at fixed latent points. */
jf_status lines_through(const model *m, jf_lines *out, size_t lines, size_t steps, const double *y,
                        const jf_use_options *o);
/* Rows between given ends, z (lines, 2, dim_x) and y (lines, 2, dim_y): z as above, or where both ends are
 * the same it stays, y in a straight line. `conditions`: rows that belong together, which divides `lines`. */
jf_status lines_between(const model *m, jf_lines *out, size_t lines, size_t steps, size_t conditions,
                        const double *z, const double *y, const jf_use_options *o);
void lines_free(jf_lines *lines);

#endif
