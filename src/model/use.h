/* Running a trained model on any number of rows in host memory, model units, a chunk at a time. The buffers
 * of the passes stay with the model between two calls; threads that use one model at the same time have their
 * own. */
#ifndef JF_MODEL_USE_H
#define JF_MODEL_USE_H

#include "model/model.h"

#define MODEL_CHUNK 1000 /* at most */

/* What rows hold, model units: (x, y), or (z, y). */
typedef enum row_content { ROWS_OF_DATA, ROWS_OF_LATENT } row_content;

/* The way of a flow. Its forward direction is that of the batches of its objective: from data to latent
 * points (an encoder), or, of objectives without data, from latent points to data. Everything that uses a
 * model asks here. */
int model_is_encoder(const model *m);
/* One pass of rows in run->state, in place, by `p`: those of data become latent points, and the other way.
 * run->logdet is that of the flow's forward direction, whichever that is; run->term is scratch. */
void model_run_pass(const model *m, row_content content, flow_run *run, const pass *p, int rows);

/* Data -> latent, and latent -> data. state (n, dim) in place; logdet (n) of data -> latent, may be NULL.
 * Where y has a flow of its own (flow->apart) rows of latent points hold y itself, which is encoded on the
 * way: it stays as it is, bit for bit, and logdet is log|det dF_Z/dx|. Rows that are beyond the device's
 * numbers and results that are not finite are refused (see below). */
jf_status model_forward(const model *m, long n, double *state, double *logdet);
jf_status model_inverse(const model *m, long n, double *state, double *logdet);
/* The objective's terms, means over the rows: state holds data and becomes their encoding, as by
 * model_forward, or, for objectives without data, latent points and becomes their decoding. */
jf_status model_evaluate(const model *m, long n, double *state, double *logdet, loss_terms *terms);
int model_chunk(const model *m, long n); /* rows that go through together: n, or as many as have room */
int model_chunk_of(const model *m, run_use use, long n); /* the same of runs for something else */

/* Ranks that share answers have to give the same ones: refuses weights that are not those of rank 0, which it
 * calls `what`. */
jf_status model_check_same(const model *m, const char *what);

/* ---- rows that can be answered for ---- */

/* Refuses rows that the device cannot hold: a float ends at 3.4e38. Names the first, its element and what was
 * found; `first`: the number of the first row, from 0. */
jf_status model_check_rows(const model *m, row_content content, long first, long n, const double *rows);
/* Refuses rows in the data's units that are outside of the supports of their columns, of y alone where they
 * hold z. */
jf_status model_check_support(const model *m, row_content content, long n, const double *rows);
/* The same of results that are not finite; logdet (n) may be NULL. */
jf_status model_check_results(const model *m, row_content content, long first, long n, const double *rows,
                              const double *logdet);

/* ---- rows in either units ---- */

/* A latent point z has no units: in rows (z, y) these are the units of y alone. */
typedef enum row_units { MODEL_UNITS, DATA_UNITS } row_units;
/* Warns where y of rows is beyond the training data: how many, and how far off the furthest is by which
 * measure (reach.h). */
jf_status model_warn_of_condition_range(const model *m, row_units units, long n, const double *rows);
/* The same of one y (dim_y), model units, in words; 0 and "" where it is not beyond, or nothing is known. */
int model_describe_beyond(const model *m, const double *y, char *out, size_t size);
jf_status model_encode(const model *m, row_units units, long n,
                       double *rows); /* (x, y) -> (z, y'), in place */
jf_status model_decode(const model *m, row_units units, long n,
                       double *rows); /* (z, y) -> (x, F_Y^-1), in place */

/* ---- samples ---- */

/* Random streams of latent points, one for each use, so that no two uses of a seed share a point: each has
 * LATENT_STREAM_SIZE points, and point i of a stream is sample (stream * LATENT_STREAM_SIZE + i) of
 * RNG_SAMPLE. */
typedef enum latent_stream {
    LATENT_SAMPLES = 0,  /* what users draw; also pictures and figures of samples, round trips, and rules */
    LATENT_MAPS = 1,     /* the report's picture of both directions of the map */
    LATENT_COVERAGE = 2, /* answers to held-out images: their spread, coverage and PSNR */
    LATENT_ENERGY = 3,   /* samples that are compared with the data */
    LATENT_CALIBRATION = 4, /* samples among which the truth is ranked */
    LATENT_PREDICTIVE = 5,  /* answers that are simulated */
    LATENT_INSIDE = 6,      /* points by which the share inside of cut columns is found */
    LATENT_FINE = 256,      /* the second step of super-resolution */
} latent_stream;
#define LATENT_STREAM_SIZE (UINT64_C(1) << 32)

typedef struct latent_points {
    uint64_t seed;
    latent_stream stream;
    uint64_t first;     /* point of the stream */
    double temperature; /* that points are multiplied by */
} latent_points;
/* n latent points into the x elements of rows (n, dim). */
void model_draw_latent(const model *m, latent_points from, long n, double *rows);

/* Whether some column of x is cut (types/support.h), and whether x of a row, model units, is beyond one's
 * bounds. */
int model_is_cut(const model *m);
int model_is_beyond(const model *m, const double *row);

/* Samples in the model's units: of rows (z, y) with the latent points of `from` for z, and those of cut
 * columns drawn again until they are inside. z (n, dim_x) and logdet (n) may be NULL. */
jf_status model_answer(const model *m, latent_points from, long n, double *rows, double *z, double *logdet);
/* Samples x ~ p(x | y): takes the condition of each row (n, dim), whose x may be anything, and leaves x =
 * F_X^-1(z, y) and, in the place of y, F_Y^-1(z, y). z (n, dim_x), the latent points, may be NULL. */
jf_status model_sample(const model *m, latent_points from, row_units units, long n, double *rows, double *z);

#endif
