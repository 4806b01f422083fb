/* How good are images of a class? Nearest neighbours in the space of pixels answer, beside what held-out
 * images reach:
 *
 * - recognised: the share whose nearest training image is of their class (a 1-nearest-neighbour classifier);
 * - precision and recall (Kynkaanniemi et al. 2019): a set of images is taken for the union of balls around
 *   them, each as large as the distance to the image's k-th neighbour in the set. Precision is the share of
 *   the judged images inside those around real ones, recall the share of real ones inside those around the
 *   judged. Both sets have the same number.
 *
 * Cost: (rows + 4 n) n pixels multiplications for n images and so many training rows, on the device. */
#include "data/tasks/task.h"
#include "judge/judge.h"
#include "judge/neighbours.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- training images ---- */

/* Clean ones, in a fixed order, each once; rows: (1 + scratch) of them, to read with. */
typedef struct reader {
    const dataset *data;
    size_t pixels;
    double *row;
} reader;

static const row_sequence training_rows = {{1, RNG_JUDGE, RNG_USE_QUALITY}, -1, 0};

static void read_images(const void *source, long first, int count, double *images) {
    const reader *from = source;
    const dataset *data = from->data;
    const task *t = data->task;
    for (int i = 0; i < count; i++, images += from->pixels) {
        double *row = from->row;
        dataset_rows(data, &training_rows, (uint64_t)(first + i), 1, row + dataset_dim(data), row);
        t->kind->restore(t, row, row + data->dim_x, images);
    }
}

static int class_of_training(const dataset *data, long row) {
    return data->kind->row_class(data, dataset_row_at(data, &training_rows, (uint64_t)row));
}

/* ---- recognised ---- */

static jf_status measure_recognised(device *d, const reader *from, const points *images, const int *class_of,
                                    image_quality *out) {
    const dataset *data = from->data;
    points training = {.n = data->rows < QUALITY_TRAINING ? data->rows : QUALITY_TRAINING,
                       .dim = images->dim,
                       .read = read_images,
                       .source = from};
    double *squares, count[MAX_CLASSES] = {0};
    long *nearest = NULL;
    jf_status status;
    JF_TRY(MEM_NEW(d->ctx, &squares, (size_t)images->n));
    JF_TRY_DONE(MEM_NEW(d->ctx, &nearest, (size_t)images->n));
    JF_TRY_DONE(neighbours_find(d, images, &training, 1, squares, nearest));
    out->training = training.n;
    out->recognised = 0;
    for (int c = 0; c < data->classes; c++) out->by_class[c] = 0;
    for (long i = 0; i < images->n; i++) {
        int c = class_of[i], right = nearest[i] >= 0 && class_of_training(data, nearest[i]) == c;
        out->recognised += right;
        out->by_class[c] += right;
        count[c]++;
    }
    out->recognised /= (double)images->n;
    for (int c = 0; c < data->classes; c++)
        out->by_class[c] = count[c] > 0 ? out->by_class[c] / count[c] : NAN;
done:
    free(squares);
    free(nearest);
    return status;
}

/* ---- precision and recall ---- */

/* Share of `judged` inside the balls around `around`. */
static jf_status share_inside(device *d, const points *judged, const points *around, double *share) {
    const size_t n = (size_t)around->n, k = QUALITY_NEIGHBOURS;
    double *squares, *radius = NULL;
    unsigned char *inside = NULL;
    jf_status status;
    JF_TRY(MEM_NEW(d->ctx, &squares, n * k));
    JF_TRY_DONE(MEM_NEW(d->ctx, &radius, n));
    JF_TRY_DONE(MEM_NEW(d->ctx, &inside, (size_t)judged->n));
    JF_TRY_DONE(neighbours_find(d, around, around, (int)k, squares, NULL));
    for (size_t i = 0; i < n; i++) radius[i] = squares[i * k + k - 1];
    JF_TRY_DONE(neighbours_inside(d, judged, around, radius, inside));
    long count = 0;
    for (long i = 0; i < judged->n; i++) count += inside[i];
    *share = (double)count / (double)judged->n;
done:
    free(squares);
    free(radius);
    free(inside);
    return status;
}

jf_status precision_and_recall(device *d, int dim, long n, const double *judged, long real_count,
                               const double *reals, image_quality *out) {
    const points of_model = {.n = n, .dim = dim, .values = judged},
                 of_data = {.n = real_count, .dim = dim, .values = reals};
    out->precision = out->recall = NAN;
    if (n <= QUALITY_NEIGHBOURS || real_count <= QUALITY_NEIGHBOURS) return JF_OK;
    JF_TRY(share_inside(d, &of_model, &of_data, &out->precision));
    return share_inside(d, &of_data, &of_model, &out->recall);
}

/* ---- all of it ---- */

image_quality quality_unknown(void) {
    image_quality q = {0};
    metrics_forget(&metric_lists[METRICS_OF_QUALITY], &q);
    for (int c = 0; c < MAX_CLASSES; c++) q.by_class[c] = NAN;
    return q;
}

jf_status quality_of_images(const model *m, const dataset *data, long n, const double *images,
                            const int *class_of, image_quality *out) {
    const task *t = data->task;
    size_t pixels = (size_t)(t->size.h * t->size.w * t->image_channels);
    reader from = {.data = data, .pixels = pixels};
    points judged = {.n = n, .dim = (int)pixels, .values = images};
    long others = data->rows < n ? data->rows : n;
    double *reals = NULL;
    jf_status status;
    *out = quality_unknown();
    out->images = n;
    JF_TRY_DONE(MEM_NEW(m->ctx, &from.row, (size_t)dataset_dim(data) + data->scratch));
    if (class_of) JF_TRY_DONE(measure_recognised(m->d, &from, &judged, class_of, out));
    JF_TRY_DONE(MEM_NEW(m->ctx, &reals, (size_t)others * pixels));
    read_images(&from, 0, (int)others, reals);
    JF_TRY_DONE(precision_and_recall(m->d, (int)pixels, n, images, others, reals, out));
done:
    free(from.row);
    free(reals);
    return status;
}
