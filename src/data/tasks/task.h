/* Tasks: which (x, y) is made of an image, and which image of an (x, y). One file in this folder per task,
 * one line in list.c.
 *
 * A task follows from the recipe and the size of the images alone, so that a model can be used without its
 * data. Its functions may be called by several threads at once. */
#ifndef JF_DATA_TASKS_TASK_H
#define JF_DATA_TASKS_TASK_H

#include "base/random.h"
#include "io/recipe.h"
#include "types/image_size.h"
#include "types/resident.h"

typedef struct task task;

typedef struct task_kind {
    const char *name, *summary;
    const recipe_key *keys; /* keys of [data] that only this task reads; may be NULL */
    /* Reads its keys and fills in size; refuses image sizes that it cannot work on, saying which it can.
     * Before, all sizes are those of the data's images. */
    jf_status (*open)(task *t, const recipe *r);
    void (*close)(task *t); /* also after a failed open; may be NULL */
    /* x and y of an image (h, w, channels of the data's images); class tasks leave y alone. The stream is for
     * tasks whose degradation is random. */
    void (*apply)(const task *t, const double *image, rng *stream, double *x, double *y);
    /* The image (size.h, size.w, image_channels) that x and y are of. */
    void (*restore)(const task *t, const double *x, const double *y, double *image);
    /* The x of an image of that size under a condition y: what `restore` makes the image of. */
    void (*answer)(const task *t, const double *image, const double *y, double *x);
    /* The condition y of a degraded input, shrunk or not, as a user would hand it in: `input` has input_size.
     * NULL: there is none to hand in (class). */
    void (*condition)(const task *t, const double *input, double *y);
    /* The degraded image (input_size) that an image of size.h, size.w has: what a reconstruction is compared
     * with. NULL as above. */
    void (*degrade)(const task *t, const double *image, rng *stream, double *input);
    int by_class; /* y is the label, constant over the image */
    /* Pixels of the data's images, along a side, that one pixel of x stands for; NULL: 1. */
    int (*reduction)(const recipe *r);
    /* Optional: x of a pixel, for tasks whose x is made of each by itself and whose y is the label. */
    double (*of_pixel)(const task *t, double pixel);
    /* Optional: log|dx/dv| of an element x, v being the level (0 to 256) of its dequantised pixel; for tasks
     * with `levels`. */
    double (*log_slope)(const task *t, double x);
    /* Optional: which one it is to a device, and with which numbers (types/resident.h), where it is not
     * RESIDENT_WHOLE. */
    void (*resident)(const task *t, resident_data *out);
    int random; /* the degradation draws from the stream: degrading twice gives different inputs */
} task_kind;

struct task {
    jf_context *ctx;
    const task_kind *kind;
    int h, w, channels; /* of the data's images */
    image_size size;    /* of x and y; an image that `restore` gives has size.h, size.w, image_channels */
    int image_channels;
    int planes; /* y has a plane for each class */
    int levels; /* x is made of bytes, to which a uniform number is added: it has a density, and so bits per
                   dimension */
    int input_h, input_w, input_channels; /* of `condition` and `degrade` */
    int masked; /* the last channel of an input, and of y, tells where it is missing: 1 there, else 0 */
    void *own;
};

extern const task_kind *const task_kinds[]; /* ends with NULL */
jf_status task_declare(recipe *r);          /* data.task and the keys of all, under data.set = images */
jf_status task_create(jf_context *ctx, task **out, const recipe *r, int h, int w, int channels);
/* The same from the size of x and y, for a model whose data are not at hand. */
jf_status task_of_size(jf_context *ctx, task **out, const recipe *r, image_size size);
void task_free(task *t);

/* ---- for tasks whose y is the degraded image, of one channel or as many as x (or more, which only tell),
 * and x = image - y
 * ---- */

/* y = degrade(image), x = image - y; for tasks that shrink nothing. */
void task_residual_apply(const task *t, const double *image, rng *stream, double *x, double *y);
void task_residual_restore(const task *t, const double *x, const double *y, double *image); /* x + y */
void task_residual_answer(const task *t, const double *image, const double *y, double *x);  /* image - y */
void task_residual_condition(const task *t, const double *input, double *y);                /* the same */

/* ---- for tasks that halve images before (data.down) ---- */

#define TASK_MOST_DOWN 8
int task_halving_reduction(const recipe *r);
/* Sizes after data.down halvings, and those of an input that is `least` times smaller; sides must divide so
 * far. */
jf_status task_halving_open(task *t, const recipe *r, int least);
/* Means of (side x side) pixels: (h side, w side, channels) -> (h, w, channels). */
void task_shrink(const double *image, int h, int w, int channels, int side, double *out);

/* Beyond the border an image of n pixels goes on as its mirror image: ... 1 0 | 0 1 ... n-1 | n-1 n-2 ... */
int task_mirrored(int i, int n);

#endif
