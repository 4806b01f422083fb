/* Figures of the paper. One file a figure, one line in list.c; each trains what it needs or takes a finished
 * model. */
#ifndef JF_FIGURE_FIGURE_H
#define JF_FIGURE_FIGURE_H

#include "jointflow/jointflow.h"

#include "draw/draw.h"
#include "judge/judge.h"
#include "judge/pictures.h"
#include "model/use.h"

typedef struct figure_job {
    jf_context *ctx;
    const jf_figure_options *options;
} figure_job;

typedef struct figure_kind {
    const char *name, *summary;
    jf_status (*make)(const figure_job *job);
} figure_kind;

extern const figure_kind *const figure_kinds[]; /* ends with NULL */

/* What a model of a figure has learned, and from which recipe it is trained where none is given. */
typedef struct figure_subject {
    const char *recipe;
    const char *set;  /* its data.set, or NULL for a rule */
    const char *rule; /* its loss.rule, or NULL */
    int dim_y;        /* 1 with a condition, 0 without; x is always the plane */
} figure_subject;
/* Model `index` of a figure: options->models[index] where given, if it is of that subject; the one that the
 * figure's folder already holds for the same recipe; or trained now into FOLDER/RECIPE. */
jf_status figure_model(const figure_job *job, int index, const figure_subject *subject, model **out);
jf_status figure_path(const figure_job *job, char **out, const char *name); /* FOLDER/name */

/* n samples in the data's units for one y (in the data's units; ignored without a condition). x (n, 2), z (n,
 * 2). y_back (n): F_Y^-1, model units; may be NULL. */
jf_status figure_samples(const model *m, long n, double y, uint64_t seed, double *x, double *z,
                         double *y_back);
/* n fresh data points of a class (-1: all), the data's units, and their encodings: x (n, 2), z (n, 2). */
jf_status figure_data(const model *m, long n, int class_index, double *x, double *z);
/* A scatter of (n, 2) points, coloured by values (-2 .. 2) or in one ink. */
void figure_scatter(panel *p, const char *title, long n, const double *points, const double limits[4],
                    const char *x_name, const char *y_name, const double *values, colour ink);
extern const double figure_latent_limits[4];

#endif
