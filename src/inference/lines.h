/* Answers along lines in z and in y; any model. */
#ifndef JF_INFERENCE_LINES_H
#define JF_INFERENCE_LINES_H

#include "model/use.h"

typedef struct answer_lines {
    int rows, steps;
    double *z, *y, *x; /* (rows, steps, dim_x), (rows, steps, dim_y), (rows, steps, dim_x) */
    int along_y;
    int conditions; /* rows of the same line in z, which follow each other; 1 along y */
} answer_lines;

/* What all lines have in common. */
typedef struct lines_request {
    int lines, steps;
    uint64_t seed;
    row_units units; /* of x and y */
    int straight;    /* in z: (1 - t) z1 + t z2, as in the paper */
} lines_request;

/* Lines in z at fixed y (conditions, dim_y): for each pair of latent points a row for each condition. From z1
 * to z2 it goes by a quarter turn, cos(t) z1 + sin(t) z2: every point of it is itself a draw of the prior,
 * whereas those of a straight line, which it is on request, are nearer to 0 than samples are. */
jf_status lines_along_z(const model *m, answer_lines *out, const lines_request *r, int conditions,
                        const double *y);
/* Straight lines in y, between and beyond conditions of the data, at fixed latent points; from, to: (dim_y).
 */
jf_status lines_along_y(const model *m, answer_lines *out, const lines_request *r, const double *from,
                        const double *to);
/* Any way in y (steps, dim_y), at fixed latent points. */
jf_status lines_through(const model *m, answer_lines *out, const lines_request *r, const double *y);
/* Rows between given ends, z (rows, 2, dim_x) and y (rows, 2, dim_y): z as above, or where both ends are the
 * same it stays, y in a straight line. `conditions`: rows that belong together. */
jf_status lines_between(const model *m, answer_lines *out, const lines_request *r, int conditions,
                        const double *z, const double *y);
void lines_free(answer_lines *lines);

#endif
