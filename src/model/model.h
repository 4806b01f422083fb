/* A model: a recipe made into a flow with its weights on a device, and the units of its data.
 *
 * Everything needed to use it travels in its file (see file.c), so that sampling needs no data set. */
#ifndef JF_MODEL_MODEL_H
#define JF_MODEL_MODEL_H

#include "base/memory.h"
#include "flow/flow.h"
#include "io/safetensors.h"
#include "loss/loss.h"
#include "model/condition_range.h"
#include "types/limits.h"
#include "types/support.h"

/* Units of the data: model = (map(data) - mean) / deviation, elements x first, with the map of each element's
 * support. */
typedef struct model_units {
    int dim_x, dim_y;
    column_support *support;          /* (dim_x + dim_y), or NULL: all are the line, and their maps nothing */
    char **names;                     /* (dim_x + dim_y) of the columns, or NULL */
    condition_range *condition_range; /* of the training data's y, of vectors; NULL: not known, or y is a
                                         class or absent */
    image_size image;                 /* image.h > 0: x and y are images, [h][w][channels] each */
    double *mean, *deviation;         /* (dim_x + dim_y) */
    int classes; /* > 0: y is one of these labels, in the data's units, or has a plane for each */
    double label[MAX_CLASSES]; /* ascending where y has planes */
    char class_name[MAX_CLASSES][MAX_CLASS_NAME];
} model_units;

/* Buffers of passes that nobody needs at the moment, kept for the next use of the model (use.c). */
typedef struct spare_run spare_run;
jf_status spare_run_create(jf_context *ctx, spare_run **out);
void spare_run_free(spare_run *s);

typedef struct jf_model model; /* public name: jf_model */
struct jf_model {
    jf_context *ctx;
    device *d;
    recipe *recipe;
    uint64_t seed;
    model_units units;
    flow *flow;
    objective objective;
    param_list parameters; /* names and shapes of the views into params */
    real *params;          /* flat */
    spare_run *spare;      /* buffers between two uses */
    char *trained;         /* a sentence about the training so far, "" before it */
    char *folder;          /* of the file that it was read from, without links; NULL: it was made here */
};

jf_status model_declare(recipe *r); /* keys of [model] and [loss] */
/* Where weights and masks come from: fresh ones from the seed, or a file, which has the weights, too. */
typedef struct model_origin {
    uint64_t seed;
    int from_file;        /* the weights are left at zero */
    const uint8_t *masks; /* (steps, dim) of a file's vector model */
    int steps;
    const table_list *tables; /* of a file */
    param_check check;        /* NULL, or asked about each parameter before anything is made for it */
    const void *check_with;
} model_origin;
/* The recipe must be checked; it is cloned. The model owns the device. */
jf_status model_create(jf_context *ctx, model **out, const recipe *r, const model_units *units,
                       const char *device_name, int threads, const model_origin *origin);
/* The same on a device that is open; it is the model's from now on, also where this fails. */
jf_status model_create_on(jf_context *ctx, model **out, const recipe *r, const model_units *units, device *d,
                          const model_origin *origin);
void model_free(model *m);
jf_status model_set_trained(model *m, const char *sentence);
/* What the sentence says where the held-out loss was still falling when training ended; and whether it does.
 */
#define MODEL_CUT_SHORT "the held-out loss was still falling"
int model_was_cut_short(const model *m);

/* file.c: the model file. `declare_all` declares every key a recipe may have (the caller knows more than
 * model/). */
typedef jf_status (*declare_fn)(recipe *r);
/* How weights are stored: as the device has them, or in half precision (tensors of a few numbers stay whole),
 * which refuses those beyond its range. */
typedef enum model_weights { WEIGHTS_WHOLE, WEIGHTS_HALF } model_weights;
jf_status model_save_as(const model *m, const char *path, model_weights as, file_writer *write);
jf_status model_save(const model *m, const char *path); /* whole weights; replaces a link */
jf_status model_load(jf_context *ctx, model **out, const char *path, const char *device_name, int threads,
                     declare_fn declare_all);
#define MODEL_MAX_PREFIX 24 /* bytes of a prefix, with its end */
/* Tensors of a flat buffer under "PREFIX" + the parameters' names: F32 where the device is float, F64 where
 * double. */
jf_status model_tensors(const model *m, const char *prefix, const real *flat, tensor **tensors,
                        void **storage);
void model_tensors_free(const model *m, tensor *tensors, void *storage);
/* Where parameters come from: the tensors PREFIX + name of a file. A param_check: one that is missing or of
 * another shape is refused. */
typedef struct model_tensor_source {
    jf_context *ctx;
    const tensor_file *file;
    const char *path, *prefix;
} model_tensor_source;
jf_status model_check_param(const void *with, const param *p);
jf_status model_read_tensors(const model *m, const tensor_file *file, const char *path, const char *prefix,
                             real *flat);
/* The model's own, under their names; refuses numbers that are not finite on its device. */
jf_status model_read_weights(const model *m, const tensor_file *file, const char *path);

/* Names of the models that make its images larger, as its recipe has them (data.then); NULL: none. */
const char *model_then(const model *m);

/* units */
jf_status units_copy(jf_context *ctx, model_units *to, const model_units *from);
void units_free(model_units *u);
void units_standardise(const model_units *u, int n, double *xy);
void units_unstandardise(const model_units *u, int n, double *xy);
double units_log_volume(const model_units *u); /* sum of log deviation over x */
/* log |d data / d model| over x at a row (dim) in model units: nats in the data's units = nats in the model's
 * + this. */
double units_log_volume_at(const model_units *u, const double *row);
double units_to_model(const model_units *u, int element, double value); /* one element */
double units_to_data(const model_units *u, int element, double value);
/* Whether a value of the data's units is one of the element's support, or in place of a constant of y, which
 * may have any. */
int units_take(const model_units *u, int element, double value);
int units_find_class(const model_units *u, const char *name); /* -1: none */
void units_list_classes(const model_units *u, text *out);     /* "setosa, virginica": names, or labels */
/* The name of a class that is no number of its own, in place of its label; NULL: there is none, or it is none
 * of them. */
const char *units_word_of_label(const model_units *u, double label);
int units_class_of_label(const model_units *u, double label); /* -1: none */
/* Whose y (dim_y) it is, the data's units, by its first element or pixel; -1: none. */
int units_class_of(const model_units *u, const double *y);
/* Of y, one for each class: channels of an image, elements of a vector; 0: y is the label
 * (types/label_formulas.h) */
int units_planes(const model_units *u);
void units_fill_y(const model_units *u, double label,
                  double *y); /* (dim_y) of a label, or of a number between two */
double units_label_of(const model_units *u, const double *y); /* the number that y was made of */

#endif
