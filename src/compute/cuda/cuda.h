/* The cuda device: float on an NVIDIA GPU. What is done for the host is C, in cuda.c; what runs on the GPU is
 * in the .cu files, each of which hands functions that launch its kernels to the table.
 *
 * All work goes through one stream, in the order in which it was asked for; only what returns something to
 * the host waits for it. Sums whose order matters are taken in pieces that follow from sizes alone and are
 * added in their order, without atomics: the same bits in every run on the same kind of GPU. */
#ifndef JF_COMPUTE_CUDA_CUDA_H
#define JF_COMPUTE_CUDA_CUDA_H

#include "compute/compute.h"
#include <cuda_runtime_api.h>
#include <pthread.h>

#define CUDA_PARTIAL  ((size_t)1 << 22) /* numbers of all partial sums of an operation, at most */
#define CUDA_SIDES    3                 /* works beside the stream that can be waited for one by one */
#define CUDA_TRANSFER ((size_t)1 << 18) /* numbers that are transferred at once */

/* Page-locked memory of the host that a transfer goes through, and when the last one has left it. */
typedef struct cuda_slot {
    void *memory; /* CUDA_TRANSFER doubles */
    cudaEvent_t empty;
} cuda_slot;

typedef struct cuda_profile cuda_profile; /* profile.h */

typedef struct cuda_device {
    int index; /* of the GPU */
    cudaStream_t stream;
    cudaStream_t side; /* for what nobody waits for soon (cuda_side_begin()) */
    cudaEvent_t fork, done[CUDA_SIDES];
    int under_way[CUDA_SIDES];
    char name[64];
    int major;      /* of its compute capability */
    int processors; /* multiprocessors */
    size_t shared_block,
        shared_processor; /* bytes of shared memory of a block, at most, and of a multiprocessor */
    thread_pool *pool;    /* of the host, for tasks in the background */
    pthread_mutex_t
        lock; /* several threads may use the device: transfers, and partial sums until they are taken up */
    cuda_slot slots[2];
    int next_slot;
    float *partial;  /* (CUDA_PARTIAL), on the device */
    double *numbers; /* (CUDA_NUMBERS), on the device: of a step of the optimiser */
    pthread_mutex_t failure_lock;
    cudaError_t failed; /* the first failure of the device, and where it was noticed */
    const char *failed_in;
    cuda_profile *profile; /* NULL: none is wanted */
    int capturing;         /* what is asked for is recorded, not run */
} cuda_device;

#define CUDA_NUMBERS 512

/* Scratch of a plan's call, or what it keeps, laid out piece by piece; without memory its size is counted. */
typedef struct cuda_room {
    char *base;
    size_t used; /* bytes */
} cuda_room;
static inline void *cuda_take(cuda_room *r, size_t bytes) {
    void *p = r->base ? r->base + r->used : NULL;
    r->used += (bytes + 255) / 256 * 256;
    return p;
}
static inline size_t cuda_room_reals(const cuda_room *r) {
    return r->used / sizeof(float);
}

/* A kind of whole layers: that of the networks that `form` names (layer.h). Its plans begin with a
 * layer_plan. */
typedef struct cuda_plan_kind cuda_plan_kind;
struct layer_plan {
    const cuda_plan_kind *kind;
};
struct cuda_plan_kind {
    const char *form;
    jf_status (*open)(device *d, layer_plan **out,
                      const coupling_layer *layer); /* *out NULL: not for such a layer */
    void (*close)(device *d, layer_plan *p);
    size_t (*saved)(const layer_plan *p, int n, precision in);
    size_t (*scratch)(const layer_plan *p, int n, layer_use use);
    void (*run)(device *d, const layer_plan *p, const layer_call *call);
};

#ifdef __cplusplus
extern "C" {
#endif
/* The device, made the current one of the calling thread. */
cuda_device *cuda_use(const device *d);
/* Keeps the first failure for `status`. `what`: a constant text. */
void cuda_note(cuda_device *own, cudaError_t error, const char *what);
/* Bytes of the host to the device, queued; the host's memory may be used again. */
void cuda_send(cuda_device *own, void *to, const void *from, size_t bytes);
/* Zeroed memory of the device. `unit` and count are for the message where there is none. */
jf_status cuda_reserve(const device *d, void **out, size_t count, size_t size, const char *unit);

/* Work beside the stream, after all that was asked for before it: what is launched between begin and end in
 * the stream that begin returns. wait: what is asked for from now on comes after the last work of that
 * number. While a profile is taken it is the stream itself, so that times do not mix. */
cudaStream_t cuda_side_begin(cuda_device *own);
void cuda_side_end(cuda_device *own, int number);
void cuda_side_wait(cuda_device *own, int number);

/* elements.cu */
void cuda_fill(device *d, real *to, double value, size_t count);
void cuda_add(device *d, real *to, const real *from, size_t count);
void cuda_sum_into(device *d, scalar *to, const real *values, size_t count, double weight);
void cuda_largest_difference_into(device *d, scalar *to, const real *a, const real *b, size_t count);
void cuda_normal(device *d, real *to, int n, int dim, rng_key key, uint64_t first);
void cuda_dropout(device *d, real *x, size_t count, const dropout_mask *mask);
void cuda_gather(device *d, real *part, const real *whole, const int32_t *map, int n, int count, int dim);
void cuda_scatter(device *d, real *whole, const real *part, const int32_t *map, int n, int count, int dim);
void cuda_scatter_add(device *d, real *whole, const real *part, const int32_t *map, int n, int count,
                      int dim);
/* dense.cu */
void cuda_dense_forward(device *d, real *y, const real *x, const real *w, const real *b, int n, int in,
                        int out, double slope);
void cuda_dense_backward(device *d, real *dx, real *dw, real *db, real *dy, const real *y, const real *x,
                         const real *w, int n, int in, int out, double slope);
/* image.cu */
void cuda_conv_forward(device *d, const conv_shape *c, int n, real *y, const real *x, const real *w,
                       const real *b);
void cuda_conv_backward(device *d, const conv_shape *c, int n, real *dx, real *dw, real *db, const real *dy,
                        const real *x, const real *w);
void cuda_norm_forward(device *d, const norm_shape *s, int n, real *y, const real *x, const real *g,
                       const real *b);
void cuda_norm_backward(device *d, const norm_shape *s, int n, real *dx, real *dg, real *db, const real *dy,
                        const real *x, const real *g);
/* law.cu */
void cuda_law_forward(device *d, const law_batch *c, real *u, real *logdet);
void cuda_law_inverse(device *d, const law_batch *c, real *v, real *logdet);
void cuda_law_backward(device *d, const law_batch *c, real *v, real *dv, const real *dlogdet, real *dA,
                       real *db, real *ds);
/* loss.cu */
void cuda_prior_term(device *d, real *term, real *dstate, const real *state, int n, layout l, double weight);
void cuda_distance_term(device *d, real *term, real *dstate, const real *state, const real *target, int n,
                        layout l, distance_kind kind, double lambda, double weight);
void cuda_rule_term(device *d, real *term, real *dstate, const real *state, int n, const rule_energy *e,
                    double weight);
/* step.cu */
void cuda_adam(device *d, const adam_step *a);
void cuda_clamp(device *d, real *p, const int32_t *map, const real *lo, const real *hi, size_t count);
/* plans.c */
jf_status cuda_plan_open(device *d, layer_plan **out, const coupling_layer *layer);
void cuda_plan_close(device *d, layer_plan *p);
size_t cuda_plan_saved(const device *d, const layer_plan *p, int n, precision in);
size_t cuda_plan_scratch(const device *d, const layer_plan *p, int n, layer_use use);
void cuda_plan_run(device *d, const layer_plan *p, const layer_call *call);
/* data.c and batch.cu */
jf_status cuda_data_open(device *d, device_data **out, const resident_data *from);
void cuda_data_close(device *d, device_data *data);
void cuda_data_batch(device *d, const device_data *data, const batch_request *q, real *state);
/* nccl.c */
jf_status cuda_group_id(device *d, char *id);
jf_status cuda_group_open(device *d, device_group **out, const char id[DEVICE_GROUP_ID], int rank, int size);
void cuda_group_close(device *d, device_group *g, int failed);
void cuda_group_sum(device *d, device_group *g, real *values, size_t count);
void cuda_group_sum_scalars(device *d, device_group *g, scalar *to, const scalar *from, size_t count);
int cuda_group_done(device *d, device_group *g);
#ifdef __cplusplus
}
#endif

#endif
