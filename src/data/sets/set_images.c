/* Images: a source gives them (images/), a task makes x and y of each when it is asked for (tasks/).
 *
 * Invariant: only the images as they were read are kept; a row is a pure function of its number and the
 * stream. */
#include "base/memory.h"
#include "data/dataset.h"
#include "data/images/image_set.h"
#include "data/tasks/task.h"
#include "io/checksum.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct images {
    image_set set;
    task *task;
} images;

/* ---- rows ---- */

/* The image as it was read lies in the scratch. */
static void images_fetch(const dataset *d, long row, rng *stream, double *scratch, double *x, double *y) {
    const images *own = d->own;
    image_set_at(&own->set, row, scratch);
    own->task->kind->apply(own->task, scratch, stream, x, y);
}

static int images_row_class(const dataset *d, long row) {
    const images *own = d->own;
    return own->set.labels[row];
}

static uint64_t images_add_to_checksum(const dataset *d, uint64_t sum) {
    const image_set *s = &((const images *)d->own)->set;
    int sizes[] = {s->h, s->w, s->channels, s->classes};
    size_t rows = (size_t)(s->rows + s->validation_rows), values = rows * image_set_dim(s);
    sum = checksum_add(sum, sizes, sizeof sizes);
    if (s->labels) sum = checksum_add(sum, s->labels, rows);
    if (s->bytes) return checksum_add(sum, s->bytes, values);
    return checksum_add(sum, s->reals, values * sizeof *s->reals);
}

/* ---- on a device ---- */

static void read_image(const void *source, long row, double *scratch, double *values) {
    const dataset *d = source;
    (void)scratch;
    image_set_at(&((const images *)d->own)->set, row, values);
}

/* With classes x alone is held, since y is the label; x of a byte is what the task makes of an image of it.
 */
static void list_values(const dataset *d, resident_data *out) {
    const images *own = d->own;
    const task *t = own->task;
    for (int b = 0; b < 256; b++) {
        double pixel = b / 255.0;
        out->value[b] = out->task == RESIDENT_LEVELS ? b
                        : t->kind->of_pixel          ? t->kind->of_pixel(t, pixel)
                                                     : pixel;
    }
}

/* Bytes are held as they are where x is made of each by itself, or where the task is one that devices know.
 * What the others make of an image is held as numbers, unless it is random. */
static int images_resident(const dataset *d, resident_data *out) {
    const images *own = d->own;
    const task *t = own->task;
    if (t->kind->resident) t->kind->resident(t, out);
    int known = out->task != RESIDENT_WHOLE;
    if (t->kind->random && !known) return 0;
    if (known) {
        out->width = (int)image_set_dim(&own->set);
        out->read = read_image;
    }
    int by_pixel = t->kind->of_pixel && t->size.h == t->h; /* not where images are halved before */
    if ((known || by_pixel) && own->set.bytes) {
        out->width = (int)image_set_dim(&own->set);
        out->bytes = own->set.bytes;
        list_values(d, out);
    }
    return 1;
}

/* ---- classes ---- */

static jf_status set_classes(dataset *d, const recipe *r) {
    images *own = d->own;
    image_set *s = &own->set;
    long count[MAX_CLASSES] = {0};
    if (!s->labels)
        return recipe_fail(
            r, "data.task",
            "class learns from labels, which \"%s\" has not; expected another task, or labels (for a "
            ".npy file in data.labels)",
            recipe_get(r, "data.images"));
    for (long row = 0; row < s->rows; row++) count[s->labels[row]]++;
    for (int k = 0; k < s->classes; k++) {
        if (count[k] == 0 && !d->is_test)
            return recipe_fail(r, "data.classes",
                               "no image of class \"%s\" is left to train on, expected at least one",
                               s->class_name[k]);
        d->label[k] = k;
        d->class_name[k] = s->class_name[k];
    }
    d->classes = s->classes;
    return JF_OK;
}

/* The task has been made before the classes were known. */
static jf_status set_planes(dataset *d, const recipe *r) {
    images *own = d->own;
    if (own->set.classes < 2)
        return recipe_fail(r, "data.one_hot", "a plane for each of %d class%s, expected at least two classes",
                           own->set.classes, own->set.classes == 1 ? "" : "es");
    d->planes = own->task->size.y_channels = own->set.classes;
    return JF_OK;
}

/* ---- standardisation ---- */

/* Number of values so far, their mean, and the sum of their squared distances from it. */
typedef struct moments {
    double count, mean, squares;
} moments;

static moments moments_of(const double *values, int n) {
    moments m = {.count = n};
    for (int i = 0; i < n; i++) m.mean += values[i] / n;
    for (int i = 0; i < n; i++) m.squares += (values[i] - m.mean) * (values[i] - m.mean);
    return m;
}

static moments moments_join(moments a, moments b) {
    double count = a.count + b.count, step = b.mean - a.mean;
    return (moments){count, a.mean + step * b.count / count,
                     a.squares + b.squares + step * step * a.count * b.count / count};
}

/* Over all pixels of all images to train on alike. */
static jf_status measure_x(const dataset *d, const recipe *r, double *mean, double *deviation) {
    moments all = {0};
    double *x;
    JF_TRY(MEM_NEW(d->ctx, &x, (size_t)d->dim_x + d->scratch));
    for (long row = 0; row < d->rows; row++) {
        images_fetch(d, row, NULL, x + d->dim_x, x, NULL);
        all = moments_join(all, moments_of(x, d->dim_x));
        if (isfinite(all.squares)) continue;
        free(x);
        return recipe_fail(
            r, "data.images", "image %ld to train on of \"%s\" cannot be standardised%s", row + 1,
            recipe_get(r, "data.images"),
            recipe_bool(r, "data.logit") ? "; with data.logit, expected intensities from 0 to 1" : "");
    }
    free(x);
    *mean = all.mean;
    *deviation = sqrt(all.squares / all.count);
    if (!(*deviation > 0))
        return recipe_fail(r, "data.images",
                           "all values of all images of \"%s\" are %g: they cannot be standardised",
                           recipe_get(r, "data.images"), *mean);
    return JF_OK;
}

/* Labels 0 .. n-1, equally likely, have mean (n-1)/2 and variance (n^2-1)/12. A single one stays as it is. A
 * plane is 1 for one class of n, with mean 1/n and variance (n-1)/n^2. */
static jf_status standardise_by_class(dataset *d, const recipe *r) {
    int n = d->classes;
    double mean = 0, deviation = 1;
    JF_TRY(measure_x(d, r, &mean, &deviation));
    for (int i = 0; i < d->dim_x + d->dim_y; i++) {
        int is_x = i < d->dim_x;
        d->mean[i] = is_x ? mean : (n - 1) / 2.0;
        d->deviation[i] = is_x ? deviation : n > 1 ? sqrt(((double)n * n - 1) / 12) : 1;
        if (is_x || d->planes == 0) continue;
        d->mean[i] = 1.0 / n;
        d->deviation[i] = sqrt((n - 1.0) / n / n);
    }
    return JF_OK;
}

/* ---- to test on ---- */

/* Classes by the model's names, in its order, since the test set may lack some; signs between words do not
 * count. */
static jf_status name_classes(recipe *r, const test_file *file) {
    text names = {0};
    for (int k = 0; k < file->classes; k++) {
        text_add(&names, "%s", k ? "," : "");
        for (const char *c = file->class_names[k]; *c; c++) text_add(&names, "%c", *c == ' ' ? '-' : *c);
    }
    jf_status status = text_check(recipe_context(r), &names);
    if (status == JF_OK) status = recipe_set(r, "data.classes", file->classes ? names.chars : "all");
    text_free(&names);
    return status;
}

static jf_status images_name_test(recipe *r, const test_file *file) {
    if (file->rows)
        return jf_fail(
            recipe_context(r), JF_ERROR_UNSUPPORTED,
            "data in memory to test on, but this model is one of images: expected a file or folder "
            "of images");
    JF_TRY(recipe_set(r, "data.images", file->path));
    JF_TRY(recipe_set(r, "data.labels", file->labels ? file->labels : "none"));
    JF_TRY(recipe_set(r, "data.limit", "0"));
    JF_TRY(recipe_set(r, "data.validation", "0"));
    return name_classes(r, file);
}

/* ---- the kind ---- */

static jf_status images_open(dataset *d, const recipe *r) {
    images *own;
    JF_TRY(MEM_NEW(d->ctx, &own, 1));
    d->own = own;
    JF_TRY((d->is_test ? image_set_load_test : image_set_load)(d->ctx, &own->set, r));
    const image_set *s = &own->set;
    JF_TRY(task_create(d->ctx, &own->task, r, s->h, s->w, s->channels));
    if (own->task->levels && !s->bytes)
        return recipe_fail(
            r, "data.dequantise",
            "uniform noise stands for what bytes leave out, but \"%s\" holds other numbers; expected "
            "none, or images of bytes",
            recipe_get(r, "data.images"));
    if (own->task->planes) JF_TRY(set_planes(d, r));
    d->task = own->task;
    d->image = own->task->size;
    d->dim_x = d->image.h * d->image.w * d->image.x_channels;
    d->dim_y = d->image.h * d->image.w * d->image.y_channels;
    d->rows = s->rows;
    d->validation_rows = s->validation_rows;
    d->bytes = (size_t)(s->rows + s->validation_rows) * image_set_dim(s) * (s->bytes ? 1 : sizeof *s->reals);
    d->scratch = image_set_dim(s);
    if (own->task->kind->by_class) JF_TRY(set_classes(d, r));
    JF_TRY(dataset_set_units(d));
    return own->task->kind->by_class ? standardise_by_class(d, r) : JF_OK;
}

static void images_close(dataset *d) {
    images *own = d->own;
    if (!own) return;
    task_free(own->task);
    image_set_free(&own->set);
    free(own);
}

const dataset_kind dataset_images = {
    .name = "images",
    .summary = "images, of a class or degraded",
    .keys = image_keys,
    .declare = task_declare,
    .open = images_open,
    .close = images_close,
    .fetch = images_fetch,
    .row_class = images_row_class,
    .add_to_checksum = images_add_to_checksum,
    .resident = images_resident,
    .name_test = images_name_test,
};
