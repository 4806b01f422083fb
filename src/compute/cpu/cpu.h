/* The cpu device: float, vector code for several instruction sets, a pool of threads.
 *
 * Work is cut into slices that depend on the batch size only, never on the thread count, and sums over slices
 * are taken in their order: the same bits for any number of threads. */
#ifndef JF_COMPUTE_CPU_CPU_H
#define JF_COMPUTE_CPU_CPU_H

#include "base/process_lock.h"
#include "base/threads.h"
#include "compute/compute.h"
#include "compute/cpu/meter.h"
#include <stdatomic.h>

#define CPU_SLICES     8                 /* partial sums of single operations on a batch, at most */
#define CPU_PARTIAL    ((size_t)1 << 20) /* numbers of all partial gradients of a single operation, at most */
#define CPU_CHUNK      126               /* samples that go through both networks of a layer together */
#define CPU_ROWS       6                 /* rows of a register tile */
#define CPU_MAX_VECTOR 16
#define CPU_NARROW     4 /* up to so many inputs or outputs of a network take inner products instead of tiles */

typedef struct image_kernels image_kernels; /* image_kernels.h */

/* Kernels compiled once per instruction set from kernels.c. cols is a multiple of `vector`. dense_dot rounds
 * rows up to CPU_ROWS, so its operands must be readable and its results writable up to there. ahead: NULL, or
 * rows like those of the result that will be wanted soon, from far away; the kernel fetches them into the
 * second cache while it computes. */
typedef struct cpu_kernels {
    const char *isa;
    int vector; /* floats in a register */
    /* y (rows, cols) = act(x (rows, k) w (k, cols) + b (cols)) */
    void (*dense)(int rows, int cols, int k, const float *x, size_t ldx, const float *w, size_t ldw,
                  const float *b, float slope, float *y, size_t ldy, const float *ahead);
    /* dx (rows, cols) = (dy (rows, k) wt (k, cols)) * act'(h (rows, cols)); h NULL: no activation */
    void (*dense_dx)(int rows, int cols, int k, const float *dy, size_t lddy, const float *wt, size_t ldwt,
                     const float *h, float slope, float *dx, size_t lddx, const float *ahead);
    /* dw (rows, cols) (+)= x (k, rows)^t dy (k, cols) */
    void (*dense_dw)(int rows, int cols, int k, const float *x, size_t ldx, const float *dy, size_t lddy,
                     int accumulate, float *dw, size_t lddw);
    /* db (cols) (+)= column sums of dy (k, cols) */
    void (*dense_db)(int cols, int k, const float *dy, size_t lddy, int accumulate, float *db);
    /* y (rows, outs) = x (rows, k) wt (outs, k)^t + b (outs), for few outputs; k a multiple of `vector`, b
     * may be NULL */
    void (*dense_dot)(int rows, int outs, int k, const float *x, size_t ldx, const float *wt, size_t ldwt,
                      const float *b, float *y, size_t ldy);
    /* to (count) += parts (parts_count, stride), summed in order */
    void (*add_parts)(float *to, const float *parts, size_t stride, int parts_count, size_t count);
    void (*adam)(float *p, const float *g, float *m, float *v, size_t count, const adam_numbers *step);
    void (*decay)(float *p, const float *decays, size_t count, const adam_numbers *step);    /* before adam */
    void (*average)(float *average, const float *p, size_t count, const adam_numbers *step); /* after it */
    double (*sum_squares)(const float *x, size_t count);
    const image_kernels *image; /* of the same instruction set */
} cpu_kernels;

typedef struct cpu_device {
    thread_pool *pool;
    const cpu_kernels *kernels;
    float *partial; /* (CPU_PARTIAL); there from the start, so that no operation can run out of memory */
    process_lock partial_lock; /* of several threads that use the device one at a time has them */
    meter *meters;             /* (threads); NULL: no profile is wanted */
    double metered_since;
} cpu_device;

/* The best instruction set of this machine, or the one that $JOINTFLOW_ISA names. */
jf_status cpu_kernels_choose(jf_context *ctx, const cpu_kernels **out);

static inline int cpu_round_up(int n, int to) {
    return (n + to - 1) / to * to;
}
/* Numbers rounded up to whole cache lines, which are as long as the widest vector. */
static inline size_t cpu_whole_lines(size_t count) {
    return (count + CPU_MAX_VECTOR - 1) / CPU_MAX_VECTOR * CPU_MAX_VECTOR;
}
/* Scratch that is laid out piece by piece, each from a cache line on; without memory (base NULL) its size is
 * counted. */
typedef struct cpu_room {
    float *base;
    size_t used;
} cpu_room;
static inline float *cpu_take(cpu_room *r, size_t count) {
    float *p = r->base ? r->base + r->used : NULL;
    r->used += cpu_whole_lines(count);
    return p;
}

/* Pieces of a batch that two networks work on: whoever is the second to finish one goes on with it. Cleared
 * by the caller between regions. */
typedef struct cpu_pair {
    atomic_int finished;
} cpu_pair;
static inline int cpu_pair_is_second(cpu_pair *p) {
    return atomic_fetch_add_explicit(&p->finished, 1, memory_order_acq_rel) == 1;
}

/* How many slices n samples are cut into, and where slice i begins. */
int cpu_slices(int n);
int cpu_slice_begin(int n, int slices, int i);

/* Whole layers: a kind of plan for each form of networks, in the list of plans.c. A plan is a struct of its
 * kind that begins with a layer_plan. The functions are those of the device's table. */
typedef struct cpu_plan_kind {
    const char *form; /* of coupling_layer */
    jf_status (*open)(const device *d, layer_plan **out, const coupling_layer *layer);
    void (*close)(layer_plan *p);
    size_t (*saved)(const layer_plan *p, int n);
    size_t (*scratch)(const layer_plan *p, int threads, int n, layer_use use);
    void (*run)(device *d, const layer_plan *p, const layer_call *call);
} cpu_plan_kind;
struct layer_plan {
    const cpu_plan_kind *kind;
};

jf_status cpu_plan_open(device *d, layer_plan **out, const coupling_layer *layer);
void cpu_plan_close(device *d, layer_plan *p);
size_t cpu_plan_saved(const device *d, const layer_plan *p, int n, precision in);
size_t cpu_plan_scratch(const device *d, const layer_plan *p, int n, layer_use use);
void cpu_plan_run(device *d, const layer_plan *p, const layer_call *call);
void cpu_dense_forward(device *d, real *y, const real *x, const real *w, const real *b, int n, int in,
                       int out, double slope);
void cpu_dense_backward(device *d, real *dx, real *dw, real *db, real *dy, const real *y, const real *x,
                        const real *w, int n, int in, int out, double slope);
void cpu_conv_forward(device *d, const conv_shape *c, int n, real *y, const real *x, const real *w,
                      const real *b);
void cpu_conv_backward(device *d, const conv_shape *c, int n, real *dx, real *dw, real *db, const real *dy,
                       const real *x, const real *w);
void cpu_norm_forward(device *d, const norm_shape *s, int n, real *y, const real *x, const real *g,
                      const real *b);
void cpu_norm_backward(device *d, const norm_shape *s, int n, real *dx, real *dg, real *db, const real *dy,
                       const real *x, const real *g);
void cpu_fill(device *d, real *to, double value, size_t count);
void cpu_adam(device *d, const adam_step *a);
jf_status cpu_profile_start(device *d);
int cpu_profile_read(const device *d, int part, profile_part *out);
void cpu_law_forward(device *d, const law_batch *c, real *u, real *logdet);
void cpu_law_inverse(device *d, const law_batch *c, real *v, real *logdet);
void cpu_law_backward(device *d, const law_batch *c, real *v, real *dv, const real *dlogdet, real *dA,
                      real *db, real *ds);

#endif
