#include "base/normal.h"
#include <math.h>

const double normal_terms[NORMAL_TERMS] = {
    6.55443358,   4.14578017,    -0.325837432, -0.0336973423, 0.210966783,   -0.208382246,  0.085400424,
    0.0473987427, -0.0990794328, 0.0418759701, 0.0360052084,  -0.0324534034, -0.0049893907, 0.00750969195};

double normal_below(double t) {
    return 0.5 * erfc(-t * M_SQRT1_2);
}

double normal_quantile(double p) {
    double s = (sqrt(NORMAL_ORIGIN - log(4 * p * (1 - p))) - NORMAL_CENTRE) / NORMAL_RADIUS, sum = 0;
    for (int k = NORMAL_TERMS; k-- > 0;) sum = sum * s + normal_terms[k];
    double t = (p - 0.5) * sum;
    /* One step of Halley's method, which cubes the error: the density's slope is -t times itself. */
    double newton = (normal_below(t) - p) * sqrt(2 * M_PI) * exp(t * t / 2);
    return t - newton / (1 + t * newton / 2);
}
