/* What becomes of an intensity before a model sees it, as formulas: the data make rows with them, and so do
 * devices that hold the data. */
#ifndef JF_TYPES_PIXEL_FORMULAS_H
#define JF_TYPES_PIXEL_FORMULAS_H

#include "base/formula.h"
#include <math.h>

/* Intensities that are bytes: each stands for 1/PIXEL_LEVELS of [0, 1]. */
#define PIXEL_LEVELS 256

/* Uniform dequantisation: level b and u in (0, 1) become an intensity in (0, 1), with a density of its own.
 */
FORMULA double pixel_of_level(double level, double u) {
    return (level + u) / PIXEL_LEVELS;
}

/* How intensities are spread out: x = (logit(a + (1 - 2a) pixel) + m)/2m, or as they are where m is 0. */
typedef struct pixel_spread {
    double a, m;
} pixel_spread;

FORMULA double pixel_spread_out(pixel_spread s, double pixel) {
    if (!(s.m > 0)) return pixel;
    double p = s.a + (1 - 2 * s.a) * pixel;
    return (log(p / (1 - p)) + s.m) / (2 * s.m);
}

#endif
