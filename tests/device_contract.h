/* The contract test of devices: how an entry of the table is tried on a device and compared with the
 * reference.
 *
 * A trial runs one entry and takes its outputs. It runs once on the reference and twice on the device under
 * test: first with outputs that start as NaN (those to be overwritten) and 0 (those to be added to), then as
 * 1e30 and BEGUN. So an entry that adds where it should overwrite, or the other way round, is found whatever
 * the numbers are. */
#ifndef JF_TEST_DEVICE_CONTRACT_H
#define JF_TEST_DEVICE_CONTRACT_H

#include "flow_fixture.h"

#define BEGUN 3.0

/* KEEPS: not concerned, stays as it was. KNOWN: the trial has judged it itself. */
typedef enum effect { OVERWRITES, ADDS, KEEPS, KNOWN } effect;

typedef struct output {
    const char *name;
    effect effect;
    size_t count;
    double *values;
} output;

typedef struct trial {
    lab *l;
    int second, count;
    output outputs[12];
} trial;

typedef struct bench {
    lab *ref, *tested;
    double tolerance; /* between the two, norm-wise */
} bench;

/* Awkward sizes: around the slices, chunks, tiles and vectors of a device. */
extern const int batches[], widths[];
enum { BATCHES = 9, WIDTHS = 11 };

typedef void (*trial_fn)(trial *t, const void *sizes);
/* Runs the trial three times and judges its outputs; `what` stands for the sizes in messages. */
void compare(const bench *b, trial_fn run, const void *sizes, const char *what);

/* For trials: outputs before the run, and what became of them. */
real *poison(trial *t, size_t count); /* to be overwritten */
real *begun(trial *t, size_t count);  /* to be added to */
void take(trial *t, const char *name, effect e, const real *from, size_t count);
void take_values(trial *t, const char *name, effect e, double *values,
                 size_t count); /* which are its own now */

/* Checks of groups of entries. */
void check_dense_layer(const bench *b);
void check_dense_coupling(const bench *b);
void check_convolution(const bench *b);
void check_norm(const bench *b);
void check_image_coupling(const bench *b);
void check_profile(const bench *b);
void check_scalars(const bench *b);
void check_rules(const bench *b);
void check_optimiser(const bench *b);
void check_resident(const bench *b);
void check_background(const bench *b);
void check_recording(const bench *b);
void check_group(const bench *b);
/* One dense coupling, of the paper's size, on a device that plans them. */
void compare_dense_coupling(const bench *b);

#endif
