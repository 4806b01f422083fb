/* What a profile of the cpu device consists of: time, calls and arithmetic of each part, for every worker its
 * own. A worker that is not measured has no meter, and reading the clock then costs one test of a pointer.
 * Parts never contain one another, so that their times add up. */
#ifndef JF_COMPUTE_CPU_METER_H
#define JF_COMPUTE_CPU_METER_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define METER_PARTS(PART)                                                                                    \
    PART(METER_PRODUCT, "1x1 products, forward")                                                             \
    PART(METER_PRODUCT_DX, "1x1 products, dx")                                                               \
    PART(METER_PRODUCT_DW, "1x1 products, dw")                                                               \
    PART(METER_CONV, "3x3 convolutions, forward")                                                            \
    PART(METER_CONV_DX, "3x3 convolutions, dx")                                                              \
    PART(METER_CONV_DW, "3x3 convolutions, dw")                                                              \
    PART(METER_EDGE, "first and last convolutions, forward")                                                 \
    PART(METER_EDGE_DX, "first and last convolutions, dx")                                                   \
    PART(METER_EDGE_DW, "first and last convolutions, dw")                                                   \
    PART(METER_NORM, "layer norms, forward")                                                                 \
    PART(METER_NORM_BACK, "layer norms, backward")                                                           \
    PART(METER_DENSE, "dense layers, forward")                                                               \
    PART(METER_DENSE_DX, "dense layers, dx")                                                                 \
    PART(METER_DENSE_DW, "dense layers, dw")                                                                 \
    PART(METER_LAW, "laws, forward or inverse")                                                              \
    PART(METER_LAW_BACK, "laws, backward")                                                                   \
    PART(METER_PACK, "packing of weights")                                                                   \
    PART(METER_SUM, "sums of gradients")                                                                     \
    PART(METER_ADAM, "optimiser")                                                                            \
    PART(METER_LOSS, "terms of the loss")                                                                    \
    PART(METER_RANDOM, "random numbers")                                                                     \
    PART(METER_MOVE, "copying and clearing")

typedef enum meter_part {
#define PART(id, name) id,
    METER_PARTS(PART)
#undef PART
        METER_COUNT
} meter_part;

typedef struct meter { /* of one worker */
    struct {
        double seconds, flops;
        uint64_t calls;
    } parts[METER_COUNT];
    char apart[64]; /* workers write to different cache lines */
} meter;

/* meters: (workers), or NULL where nothing is measured. */
static inline meter *meter_of(meter *meters, int worker) {
    return meters ? meters + worker : NULL;
}

static inline double meter_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* double start = meter_begin(m);  ...  meter_end(m, PART, start, flops); flops 0: not counted */
static inline double meter_begin(const meter *m) {
    return m ? meter_clock() : 0;
}
static inline void meter_end(meter *m, meter_part part, double start, double flops) {
    if (!m) return;
    m->parts[part].seconds += meter_clock() - start;
    m->parts[part].flops += flops;
    m->parts[part].calls++;
}

#endif
