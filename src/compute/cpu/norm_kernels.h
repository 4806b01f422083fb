/* Kernels of layer norms after Leaky ReLU, compiled once per instruction set from norm_kernels.c. They work
 * on a range of the pixels of one sample, so that a norm can take turns with the product that reads or makes
 * its numbers. */
#ifndef JF_COMPUTE_CPU_NORM_KERNELS_H
#define JF_COMPUTE_CPU_NORM_KERNELS_H

#include "compute/cpu/image_kernels.h"

/* x and dy are compact, `pad` numbers from pixel to pixel; y and dx, where a range of pixels begins, are
 * given by the caller and have the same distance from pixel to pixel. Parameters advance by p_pixel:
 * channels, or 0 where all pixels share them. */
typedef struct norm_job {
    int pixels, channels;
    size_t pad, p_pixel;
    float slope, mean, scale; /* of act(x): mean and 1/sqrt(var + epsilon) */
    const float *g, *b, *x;
    float *dy, *dg, *db;  /* dg, db: NULL: neither those nor y are wanted */
    int add;              /* gradients of parameters to what is there */
    double sum_q, sum_qe; /* with q = dy g and e = (act(x) - mean) scale, over the pixels so far */
} norm_job;

struct norm_kernels {
    /* mean and scale of act(x) */
    void (*moments)(norm_job *n, double epsilon);
    /* y = e g + b */
    void (*normalise)(const norm_job *n, int first, int count, float *y);
    /* dy becomes q; sum_q, sum_qe += theirs; dg (+)= dy e, db (+)= dy and y as above where wanted. */
    void (*sums)(norm_job *n, int first, int count, float *y);
    /* dx = act'(x) scale (q - mean of q - e mean of q e), or += */
    void (*dx)(const norm_job *n, int first, int count, float *dx, int add);
};

#endif
