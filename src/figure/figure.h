/* Figures of the paper. One file per figure, one line in list.c; each trains what it needs or takes a
 * finished model. */
#ifndef JF_FIGURE_FIGURE_H
#define JF_FIGURE_FIGURE_H

#include "jointflow/jointflow.h"

#include "data/images/image_set.h"
#include "draw/draw.h"
#include "judge/judge.h"
#include "judge/judge_pictures.h"
#include "model/use.h"

typedef struct figure_kind figure_kind;

typedef struct figure_job {
    jf_context *ctx;
    const jf_figure_options *options;
    const figure_kind *kind; /* the one to draw */
    int may_train;           /* 0: models that are not there make the figure fail */
} figure_job;

struct figure_kind {
    const char *name, *summary; /* name: as the paper has it, "A.3" */
    jf_status (*make)(const figure_job *job);
    int part; /* of kinds that share a file: which */
};

extern const figure_kind *const figure_kinds[]; /* ends with NULL */

/* What a model of a figure has learned, and from which recipe it is trained where none is given. */
typedef struct figure_subject {
    const char *recipe;
    const char *shipped; /* name of the model that may come with the program */
    const char *set;     /* its data.set, or NULL for a rule */
    const char *rule;    /* its loss.rule, or NULL */
    const char *task;    /* of images: its data.task; NULL: x is the plane */
    int dim_y;           /* of the plane: 1 with a condition, 0 without */
} figure_subject;
/* Model `index` of a figure: options->models[index] where given, if it is of that subject; the one of its
 * name in options->model_folder, or that came with the program; the one that the figure's folder already
 * holds for the same recipe; or trained now into FOLDER/RECIPE. JF_ERROR_IO: it is not there, and may not be
 * trained. */
jf_status figure_model(const figure_job *job, int index, const figure_subject *subject, model **out);
jf_status figure_path(const figure_job *job, char **out,
                      const char *name); /* FOLDER/name; removes a link there */

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

/* ---- images.c ---- */

extern const figure_subject figure_fashion_class, figure_mnist_class; /* two classes each */

/* The models of super-resolution, coarse and fine; models 0 and 1 of the figure. */
jf_status figure_superres_models(const figure_job *job, model *out[2]);
/* The images that super-resolution is shown on: the first one held out of each class. Those of Fashion-MNIST
 * come with the models (MODELS/examples/fashion-mnist), so that they can be shown without the data. */
typedef struct figure_examples {
    jf_images images; /* one each */
    char name[MAX_CLASSES][MAX_CLASS_NAME];
} figure_examples;
jf_status figure_examples_create(const figure_job *job, const model *fine, figure_examples *out);
int figure_example_named(const figure_examples *e, const char *name); /* -1: none */
/* FOLDER/name: 10 x 10 reconstructions of an example; a line of what was measured is added to `table`. */
jf_status figure_superres(const figure_job *job, model *const models[2], const figure_examples *examples,
                          int index, const char *name, text *table);
/* Loads the cascade that the recipe of m names; *out NULL: none. */
jf_status figure_cascade(const figure_job *job, const model *m, jf_cascade **out);
/* Images of n rows of x and y in the size in which they are shown: as the model draws them, or made larger.
 * cascade may be NULL. together: as of jf_cascade_options. */
jf_status figure_images(const model *m, const jf_cascade *cascade, size_t n, const double *x, const double *y,
                        size_t together, jf_images *out);
/* A histogram of each latent element over held-out images; a line of the distances is added to `table`. */
jf_status figure_latent(const figure_job *job, const model *m, panel *p, const char *title, text *table);
extern const char figure_superres_columns[], figure_latent_columns[]; /* first lines of the tables */
jf_status figure_write(const figure_job *job, const char *name, const text *content); /* FOLDER/name */

#endif
