/* What a device can do: a table of functions over numbers in the device's own precision and memory.
 *
 * - `real` is one such number. Its pointers are never dereferenced outside of the device; real_at() steps
 *   them.
 * - Arrays are dense, row-major, sample first: (n, count).
 * - Operations return nothing. A device that can fail later (a queue, a driver) keeps the first failure and
 *   reports it from `status`; the devices of this machine's memory cannot fail after allocation.
 * - Functions whose comment says += accumulate; all others overwrite. Results do not depend on the thread
 *   count.
 * - `scalar` is one double in the device's memory, whatever its precision; scalar_at() steps its pointers.
 *   Sums over arrays, counts and rates stay there, so that a step of training asks the host for nothing.
 * - Host memory is the caller's again when a function returns: `put` and `put_scalars` have read it by then
 *   (a device with a queue copies it first), `get` and `get_scalars` have filled it, for which they wait.
 *   Nothing else waits for queued work but `status` and what allocates or releases.
 * - Entries marked optional may be NULL; their callers then compose the required ones, or do without.
 * - dL is a gradient: dL/d(that). logdet is always the log-determinant of the forward direction (see
 *   flow/transform.h). */
#ifndef JF_COMPUTE_COMPUTE_H
#define JF_COMPUTE_COMPUTE_H

#include "base/context.h"
#include "base/random.h"
#include "base/threads.h"
#include "compute/batch.h"
#include "compute/dropout.h"
#include "compute/law/law.h"
#include "compute/layer.h"
#include "compute/rule/rule.h"
#include "compute/step.h"
#include <stdint.h>
#include <sys/types.h>

typedef struct scalar scalar;
typedef struct device_data device_data;           /* a device's own */
typedef struct device_recording device_recording; /* likewise */
typedef struct device_group device_group;         /* likewise */
#define DEVICE_GROUP_ID 128                       /* bytes of what names a group */
typedef struct device device;
typedef struct device_kind device_kind;

typedef enum distance_kind { DISTANCE_L1, DISTANCE_L2 } distance_kind; /* sum |.|, sum of squares */

/* Which elements of a state are x and which are y: [pixels][channels], the first x_channels of each pixel are
 * x. */
typedef struct layout {
    int pixels, channels, x_channels;
} layout;

/* A convolution with zero "same" padding over samples [h][w][in] -> [h][w][.]: kernel (1 or 3) squared, in
 * `groups` groups: group g reads in/groups input channels from g in/groups and gives out/groups output
 * channels. w: (kernel, kernel, in/groups, out), b: (out). The outputs are channels y_offset .. y_offset +
 * out - 1 of y, which has y_channels: branches write side by side. */
typedef struct conv_shape {
    int h, w, in, out, kernel, dilation, groups;
    int y_channels, y_offset;
} conv_shape;

/* Leaky ReLU, then layer norm over all elements of a sample: t = act(x), y = g (t - mean)/sqrt(var + epsilon)
 * + b. g, b: (pixels, channels) where per_element, else (channels). */
typedef struct norm_shape {
    int pixels, channels, per_element;
    double slope, epsilon;
} norm_shape;

/* A law applied to n samples of `rows` rows of m elements each. Of a shared law A and b are one row for all.
 */
typedef struct law_batch {
    law_config law;
    int n, m;
    const real *A; /* (n, rows, law_outputs(law, m)): raw outputs of the network A */
    const real *b; /* (n, rows, m): outputs of the network B; NULL where the law has no shift */
    const real *s; /* (1): the layer's scale; NULL where the law has none */
    int rows;      /* 1, or for instance the pixels of an image: their logdet is summed up */
} law_batch;

/* One step of Adam on flat buffers, all of which stays on the device. What is here is the same for all steps
 * of a run. */
typedef struct adam_step {
    real *params, *grad, *first, *second; /* (count) each */
    size_t count;
    double beta1, beta2, epsilon;
    double decay;       /* p -= rate decay p beside the step, where decays is 1; 0: none */
    const real *decays; /* (count): 0 or 1; NULL: none */
    real *average;      /* (count): a = share a + (1 - share) p after the step; NULL: not wanted */
    double share;
    double clip;         /* largest norm of the gradient, 0: no clipping */
    scalar *state;       /* a step_state (step.h) */
    const scalar *terms; /* (term_count): the loss so far, which has to be finite */
    int term_count;
} adam_step;

/* What a device did with its time since its profile began, in one of its parts. */
typedef struct profile_part {
    const char *name;
    double seconds;      /* of thread time: of all threads together */
    double calls, flops; /* flops 0: not counted */
} profile_part;

struct device_kind {
    const char *name, *summary;
    size_t real_size;
    unsigned
        precisions; /* bits 1 << PRECISION_...: what products can be computed in; 0: PRECISION_FP32 alone */
    enum precision training; /* the one of these that serves training best */

    jf_status (*open)(device *d, int threads);
    void (*close)(device *d);
    jf_status (*status)(device *d); /* JF_OK, or the first failure; waits for queued work */
    void (*describe)(const device *d, char *text, size_t size); /* "avx512, 2 threads" */
    /* Optional: bytes of the device's own memory, those that are free and all. Default: it computes in the
     * host's. */
    void (*memory)(const device *d, size_t *left, size_t *all);
    /* Optional: whether device number `index` of this kind cannot be used on this machine, and why. */
    int (*missing)(int index, char *why, size_t size);

    /* memory */
    jf_status (*alloc)(device *d, real **out, size_t count); /* zeroed */
    void (*release)(device *d, real *p);
    jf_status (*alloc_map)(device *d, int32_t **out, const int32_t *host, size_t count);
    void (*release_map)(device *d, int32_t *map);
    void (*put)(device *d, real *to, const double *from, size_t count); /* host -> device */
    void (*get)(device *d, double *to, const real *from, size_t count); /* device -> host */
    void (*copy)(device *d, real *to, const real *from, size_t count);
    void (*fill)(device *d, real *to, double value, size_t count);
    void (*add)(device *d, real *to, const real *from, size_t count); /* to += from */
    /* Optional: numbers where they lie, as the host's: floats or doubles, by real_size. Default: they lie
     * elsewhere. */
    void *(*host)(device *d, real *p);

    /* scalars */
    jf_status (*alloc_scalars)(device *d, scalar **out, size_t count); /* zeroed */
    void (*release_scalars)(device *d, scalar *p);
    void (*put_scalars)(device *d, scalar *to, const double *from, size_t count);
    void (*get_scalars)(device *d, double *to, const scalar *from, size_t count);
    /* to (1) += weight times the sum of the values (count), taken in double and in an order that count alone
     * decides */
    void (*sum_into)(device *d, scalar *to, const real *values, size_t count, double weight);
    /* to (1) = largest |a_i - b_i| (count), those passed over that are no numbers */
    void (*largest_difference_into)(device *d, scalar *to, const real *a, const real *b, size_t count);

    /* random: to (n, dim) ~ N(0, 1); sample i from stream (key, first + i) */
    void (*normal)(device *d, real *to, int n, int dim, rng_key key, uint64_t first);

    /* dropout: x (count) in place, times the factors of dropout_factors() (dropout_formulas.h), from
     * mask->first on */
    void (*dropout)(device *d, real *x, size_t count, const dropout_mask *mask);

    /* index maps: part (n, count) and whole (n, dim), map (count) of positions in 0 .. dim-1, which are
     * distinct, but for those of gather */
    void (*gather)(device *d, real *part, const real *whole, const int32_t *map, int n, int count, int dim);
    void (*scatter)(device *d, real *whole, const real *part, const int32_t *map, int n, int count, int dim);
    void (*scatter_add)(device *d, real *whole, const real *part, const int32_t *map, int n, int count,
                        int dim);

    /* dense layer: y (n, out) = act(x (n, in) w + b); act(t) = t > 0 ? t : slope t (slope 1: linear) */
    void (*dense_forward)(device *d, real *y, const real *x, const real *w, const real *b, int n, int in,
                          int out, double slope);
    /* from y and dy: dy becomes the gradient before the activation; dx = ..., dw += ..., db += ... ; NULL:
     * not wanted (dw and db together) */
    void (*dense_backward)(device *d, real *dx, real *dw, real *db, real *dy, const real *y, const real *x,
                           const real *w, int n, int in, int out, double slope);

    /* convolution: y's channels overwritten; dx +=, dw +=, db += (NULL: not wanted; dw and db together) */
    void (*conv_forward)(device *d, const conv_shape *c, int n, real *y, const real *x, const real *w,
                         const real *b);
    void (*conv_backward)(device *d, const conv_shape *c, int n, real *dx, real *dw, real *db, const real *dy,
                          const real *x, const real *w);
    /* activation and layer norm; backward from x and dy: dx overwritten, dg +=, db += (NULL: not wanted,
     * together) */
    void (*norm_forward)(device *d, const norm_shape *s, int n, real *y, const real *x, const real *g,
                         const real *b);
    void (*norm_backward)(device *d, const norm_shape *s, int n, real *dx, real *dg, real *db, const real *dy,
                          const real *x, const real *g);

    /* laws (formulas: law/NAME.h), in place on the elements u (n, rows, m) */
    void (*law_forward)(device *d, const law_batch *c, real *u_to_v, real *logdet); /* logdet (n) += */
    void (*law_inverse)(device *d, const law_batch *c, real *v_to_u, real *logdet); /* logdet (n) += */
    /* dA, db overwritten, of a shared law += the sums over all rows (NULL where there are no such outputs);
     * ds (1) += (NULL: not wanted); dlogdet (n) */
    void (*law_backward)(device *d, const law_batch *c, real *v_to_u, real *dv_to_du, const real *dlogdet,
                         real *dA, real *db, real *ds);

    /* loss terms: term (n) overwritten; dstate (n, dim) overwritten on the elements concerned, NULL: not
     * wanted. prior: sum over x elements of z^2/2 + ln(2 pi)/2; gradient times weight. */
    void (*prior_term)(device *d, real *term, real *dstate, const real *state, int n, layout l,
                       double weight);
    /* distance: sum over y elements of lambda |s - t| or lambda (s - t)^2; gradient times weight. */
    void (*distance_term)(device *d, real *term, real *dstate, const real *state, const real *target, int n,
                          layout l, distance_kind kind, double lambda, double weight);

    /* rule: E(x) of each state (n, 2); gradient times weight. */
    void (*rule_term)(device *d, real *term, real *dstate, const real *state, int n, const rule_energy *e,
                      double weight);

    /* optimiser: m = beta1 m + (1-beta1) g;  v = beta2 v + (1-beta2) g^2;  p -= rate mhat / (sqrt(vhat) +
     * epsilon), with the gradient clipped and the rate of the schedule, unless step_begin() of step.h refuses
     * the step, which leaves all three as they are. The gradient is zero afterwards in any case. */
    void (*adam)(device *d, const adam_step *step);
    /* bounds: p[map[i]] is brought into lo[i] .. hi[i], for i < count; what is no number stays so */
    void (*clamp)(device *d, real *p, const int32_t *map, const real *lo, const real *hi, size_t count);

    /* Optional, together: whole coupling layers (layer.h), planned once and run many times. A plan owns all
     * that follows from the description alone: packed layouts, maps, sizes. It does not change while it runs,
     * and keeps no scratch: that comes with the call. Default: gather, the network's own composition of the
     * entries above, law_..., scatter (flow/coupling.c). */
    /* *out = NULL with JF_OK: the device has no plan for such a layer. */
    jf_status (*plan_open)(device *d, layer_plan **out, const coupling_layer *layer);
    void (*plan_close)(device *d, layer_plan *p);
    /* Numbers that carry the activations of a batch of n from a pass to its backward passes, which then need
     * not be computed again. */
    size_t (*plan_saved)(const device *d, const layer_plan *p, int n, precision in);
    /* Numbers of scratch of a call with up to n samples. */
    size_t (*plan_scratch)(const device *d, const layer_plan *p, int n, layer_use use);
    void (*plan_run)(device *d, const layer_plan *p, const layer_call *call);

    /* Optional, together: a data set in the device's memory, of which it makes batches itself (formulas:
     * batch_formulas.h). data_open() copies what it needs; *out is NULL where the device cannot hold such
     * data. data_batch(): state (n, dim) = the batch, in the order and units of the model; its share is above
     * 0. Default: rows are made by the host and put (train/batches.c). */
    jf_status (*data_open)(device *d, device_data **out, const resident_data *data);
    void (*data_close)(device *d, device_data *data);
    void (*data_batch)(device *d, const device_data *data, const batch_request *q, real *state);

    /* Optional, together: tasks of the host (base/threads.h) beside the device's work, which goes first where
     * it needs the same threads: they should be short. background_wait() returns when all of them are done.
     * One job at a time. Default: in place, when they are wanted. */
    void (*background)(device *d, int tasks, task_fn fn, void *arg);
    void (*background_wait)(device *d);

    /* Optional, together: work that is asked for again and again. record() notes what work(arg) asks the
     * device for, without doing it, and replay() does it, as often as one likes: with the same buffers and
     * numbers, whatever the buffers hold then. The work waits for nothing, returns and transfers nothing and
     * allocates nothing, as a step of training. *out is NULL where the device could not record it. work and
     * arg are there as long as the recording: a device that takes a profile may ask for the work itself
     * again. Default: it is asked for every time. */
    jf_status (*record)(device *d, device_recording **out, void (*work)(void *arg), void *arg);
    void (*replay)(device *d, const device_recording *r);
    void (*recording_free)(device *d, device_recording *r);

    /* Optional, together: devices of several ranks that add up what lies in their memories without their
     * hosts. One rank makes an identifier, all open the group with it, and then ask for the same sums in the
     * same order: queued, as a part of a recording, too. JF_ERROR_DEVICE with the reason where this machine
     * cannot do that; the host then adds up (ranks/ranks.h). group_sum(): values (count) of all ranks, in
     * place; group_sum_scalars(): to (count) = those of `from`. group_done(): whether all that was asked for
     * is done: 1, not yet: 0, a failure of the group: -1. group_close() waits for what was asked for, unless
     * something failed. */
    jf_status (*group_id)(device *d, char id[DEVICE_GROUP_ID]);
    jf_status (*group_open)(device *d, device_group **out, const char id[DEVICE_GROUP_ID], int rank,
                            int size);
    void (*group_close)(device *d, device_group *g, int failed);
    void (*group_sum)(device *d, device_group *g, real *values, size_t count);
    void (*group_sum_scalars)(device *d, device_group *g, scalar *to, const scalar *from, size_t count);
    int (*group_done)(device *d, device_group *g);

    /* Optional, together: where the time goes. From profile_start() on, which also starts anew, the device
     * measures itself, a little slower and with the same results. Parts are 0, 1, ...; reading one that is
     * not there gives 0. The last is what the others leave of the time so far, so that all of them add up to
     * the threads' time. */
    jf_status (*profile_start)(device *d);
    int (*profile_read)(const device *d, int part, profile_part *out);
};

struct device {
    const device_kind *kind;
    jf_context *ctx;
    int index;     /* of several of its kind: NAME:1 is the second */
    pid_t process; /* that opened it */
    void *own;
};

extern const device_kind *const device_kinds[]; /* ends with NULL; the first is the default */
int device_is_missing(const device_kind *kind, char *why, size_t size); /* on this machine; why may be NULL */

/* name: NULL means the default, the first of device_kinds; "auto" the fastest that this machine has. threads:
 * 0 means as many as there are processors. */
jf_status device_open(jf_context *ctx, device **out, const char *name, int threads);
jf_status device_open_kind(jf_context *ctx, device **out, const device_kind *kind,
                           int threads); /* of any table */
void device_close(device *d);
/* Refuses a device with memory of its own in a forked child, which its driver does not serve. */
jf_status device_check_process(const device *d);
#define DEVICE_MAX_WORDS 96
void device_describe(const device *d, char out[DEVICE_MAX_WORDS]); /* "cpu (float, avx512, 2 threads)" */
/* The same with what products are computed in, where the device has a choice: "cuda (float, NVIDIA H200;
 * products in bf16)" */
void device_describe_at(const device *d, precision in, char out[DEVICE_MAX_WORDS]);

extern const char *const precision_names[PRECISION_COUNT]; /* "fp32", ... */
int precision_find(const char *name);                      /* -1: none */
int device_has_precision(const device_kind *kind, precision in);

static inline real *real_at(const device *d, const real *p, size_t i) {
    return (real *)((char *)p + i * d->kind->real_size);
}

static inline scalar *scalar_at(const scalar *p, size_t i) {
    return (scalar *)((char *)p + i * sizeof(double));
}

#endif
