/* Memory that will be wanted soon: a kernel whose arithmetic leaves the memory idle fetches it meanwhile,
 * line by line, into the second cache. */
#ifndef JF_COMPUTE_CPU_FETCH_H
#define JF_COMPUTE_CPU_FETCH_H

#include "compute/cpu/cpu.h"

#define FETCH_RANGES 8

typedef struct fetch_list {
    const float *at, *end; /* of the range in hand */
    int next, count;       /* of the ranges that follow */
    struct {
        const float *from, *to;
    } ranges[FETCH_RANGES];
} fetch_list;

static inline void fetch_add(fetch_list *f, const float *from, size_t count) {
    f->ranges[f->count].from = from;
    f->ranges[f->count++].to = from + count;
}

static inline void fetch_line(fetch_list *f) {
    if (f->at >= f->end) {
        if (f->next == f->count) return;
        f->at = f->ranges[f->next].from;
        f->end = f->ranges[f->next++].to;
    }
    __builtin_prefetch(f->at, 0, 2); /* the first cache holds the product's operands */
    f->at += CPU_MAX_VECTOR;         /* a cache line */
}

#endif
