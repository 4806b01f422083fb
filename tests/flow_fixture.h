/* What the tests of devices, flows, objectives and models share: a device with its buffers, a flow with its
 * parameters, numbers to try them on, and finite differences.
 *
 * Numbers are drawn so that a float holds them exactly: every device starts from the same ones. */
#ifndef JF_TEST_FLOW_FIXTURE_H
#define JF_TEST_FLOW_FIXTURE_H

#include "loss/loss.h"
#include "test.h"

/* ---- numbers ---- */

double as_float(double value); /* rounded to what a float holds */
/* count of scale * N(0, 1), yours to free; the same for the same seed */
double *draw_normal(size_t count, double scale, uint64_t seed);
double *new_numbers(size_t count); /* zeroed, yours to free */
double norm_of(const double *values, size_t count);
/* |found - expected| / |expected| over the whole array (1 for |expected| where that is zero); not finite:
 * infinite */
double relative_error(const double *found, const double *expected, size_t count);
double log_determinant(const double *matrix, int dim); /* log|det| of (dim, dim) */
/* What to allow for, norm-wise, after a short computation: 1e-12 in double, 1e-5 in float, 2.5e-5 in
 * that of a GPU. */
double device_tolerance(const device *d);

#define CHECK_CLOSE(found, expected, count, tolerance)                                                       \
    do {                                                                                                     \
        double check_error = relative_error((found), (expected), (count)), check_limit = (tolerance);        \
        if (!(check_error <= check_limit))                                                                   \
            test_fail(__FILE__, __LINE__, "%s differs from %s by %.3g, allowed %.3g", #found, #expected,     \
                      check_error, check_limit);                                                             \
    } while (0)

/* ---- devices ---- */

/* Those that this machine has; the statement that follows may use device_kinds[i]. */
#define FOR_EACH_DEVICE(i)                                                                                   \
    for (int i = 0; device_kinds[i]; i++)                                                                    \
        if (device_is_missing(device_kinds[i], NULL, 0)) {                                                   \
        } else
void skip_missing_device(const device_kind *kind); /* the test, with the reason */

/* ---- a device and what was put on it ---- */

typedef struct lab {
    jf_context *ctx;
    device *d;
    real *owned[64];
    int32_t *maps[8];
    int owned_count, map_count;
} lab;

lab *lab_open(const char *device_name, int threads);
void lab_close(lab *l);
void lab_clear(lab *l); /* releases the buffers, keeps the device */
real *lab_new(lab *l, size_t count);
real *lab_put(lab *l, const double *values, size_t count);
real *lab_fill(lab *l, double value, size_t count);
int32_t *lab_map(lab *l, const int32_t *map, size_t count);
double *lab_get(lab *l, const real *from, size_t count); /* yours to free */

/* largest |a_i - b_i| of two device arrays */
double largest_difference(device *d, const real *a, const real *b, size_t count);

/* ---- finite differences ---- */

typedef double (*scalar_fn)(void *arg);
/* (f(x + h) - f(x - h)) / 2h, f reading *x through arg */
double slope_at(double *x, scalar_fn f, void *arg);
/* Fails the test where an element of `gradient` differs from the slope of f by more than tolerance * max(1,
 * largest). */
void check_gradient(const char *what, double *x, size_t count, const double *gradient, scalar_fn f, void *arg,
                    double tolerance);

/* ---- objectives ---- */

/* The terms of the batch in run->state, means, as the host sees them. */
loss_terms evaluate_batch(const objective *o, flow_run *run, int n);

/* ---- a flow on a device ---- */

typedef struct flow_rig {
    lab *l;
    recipe *recipe;
    param_list params_list; /* names and shapes */
    flow *flow;
    flow_run *run; /* run->pass.grad = grad */
    real *params, *grad;
    double *values; /* (total): the parameters, in host memory */
    size_t total;
} flow_rig;

/* model.transforms to run a general test with: number k of the couplings alone, and of each other kind of the
 * list before a coupling. 0: there are no more. */
#define TRANSFORMS_TEXT 64
int transforms_to_try(int k, char to[TRANSFORMS_TEXT]);
/* A checked recipe of [model] and [loss] keys. */
recipe *recipe_of(jf_context *ctx, const char *content);
/* Masks NULL: those of the recipe and the seed. Parameters are far from their start: biases and scales are
 * drawn, too. */
flow_rig *rig_open(const char *device_name, int threads, const char *recipe_text, int dim_x, int dim_y,
                   const uint8_t *masks, int layers, int n_max, uint64_t seed);
flow_rig *rig_open_image(const char *device_name, int threads, const char *recipe_text, image_size size,
                         int n_max, uint64_t seed);
void rig_keep(flow_rig *r, double mib); /* activations, as many as fit, from now on */
/* The same of either, with masks and tables from elsewhere. */
typedef struct rig_shape {
    int dim_x, dim_y;
    image_size image; /* h = 0: a vector */
} rig_shape;
flow_rig *rig_open_from(const char *device_name, int threads, const char *recipe_text, const rig_shape *sizes,
                        const flow_origin *origin, int n_max);
void rig_close(flow_rig *r);
void rig_upload(flow_rig *r); /* values -> params */
/* state (n, dim) in place, logdet (n) overwritten, all in host memory */
void rig_forward(flow_rig *r, int n, double *state, double *logdet);
void rig_inverse(flow_rig *r, int n, double *state, double *logdet);
/* state and dstate in place; the gradient is added to r->grad */
void rig_backward(flow_rig *r, int n, double *state, double *dstate, const double *dlogdet);
double *rig_grad(flow_rig *r); /* (total), yours to free */

#endif
