/* Scores a cascade over a whole set of images and each of its classes. */
#include "base/memory.h"
#include "base/permutation.h"
#include "base/statistics.h"
#include "data/dataset.h"
#include "data/images/image_set.h"
#include "inference/cascade.h"
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 64 }; /* images: what they become is held in memory */

_Static_assert(sizeof((jf_cascade_class *)0)->name >= MAX_CLASS_NAME, "names of classes fit");

/* The images to test on: those of the set from `first` on, or a random choice of them. */
typedef struct pictures {
    image_set set;
    task *t;                /* of the last model, for images of the size that the set has */
    long first, all, count; /* rows of the set; count: those to test on */
    double *scratch;        /* an image of the set, and its x and y */
} pictures;

static void pictures_free(pictures *p) {
    image_set_free(&p->set);
    task_free(p->t);
    free(p->scratch);
}

static jf_status load_set(const model *m, const jf_cascade_test *test, image_set *out) {
    recipe *r;
    test_file file = {.path = test->test, .labels = test->test_labels};
    if (!test->test) return image_set_load(m->ctx, out, m->recipe);
    JF_TRY(dataset_name_test(&r, m->recipe, &file));
    jf_status status = image_set_load_test(m->ctx, out, r);
    recipe_free(r);
    return status;
}

static jf_status pictures_open(const cascade *c, const jf_cascade_test *test, pictures *p) {
    const model *m = c->m[c->steps - 1];
    const image_size *size = &m->units.image;
    JF_TRY(load_set(m, test, &p->set));
    const image_set *s = &p->set;
    JF_TRY(task_create(m->ctx, &p->t, m->recipe, s->h, s->w, s->channels));
    if (p->t->size.h != size->h || p->t->size.w != size->w || p->t->size.x_channels != size->x_channels)
        return jf_fail(
            m->ctx, JF_ERROR_SHAPE,
            "%s: images of %d x %d and %d channel(s), expected some that become %d x %d and %d for "
            "the last model",
            test->test ? test->test : recipe_get(m->recipe, "data.images"), s->h, s->w, s->channels, size->h,
            size->w, size->x_channels);
    p->first = s->validation_rows > 0 ? s->rows : 0;
    p->all = p->count = s->validation_rows > 0 ? s->validation_rows : s->rows;
    if (test->most > 0 && test->most < (size_t)p->all) p->count = (long)test->most;
    return MEM_NEW(m->ctx, &p->scratch, image_set_dim(s) + (size_t)(m->units.dim_x + m->units.dim_y));
}

static long row_of(const pictures *p, long index) {
    return p->first + (p->count < p->all ? (long)validation_row((uint64_t)p->all, (uint64_t)index) : index);
}

/* Image `index` of them, as large as the last model makes it. */
static void picture_at(const pictures *p, long index, double *out) {
    const image_size *size = &p->t->size;
    double *x = p->scratch + image_set_dim(&p->set), *y = x + (size_t)(size->h * size->w * size->x_channels);
    image_set_at(&p->set, row_of(p, index), p->scratch);
    p->t->kind->apply(p->t, p->scratch, NULL, x, y);
    p->t->kind->restore(p->t, x, y, out);
}

/* ---- sums ---- */

typedef struct sums {
    double images, square[JF_CASCADE_MOST];
} sums;

/* squares (steps, n): those of image `index` are added. */
static void add_image(sums *s, int steps, const double *squares, int n, int index) {
    s->images++;
    for (int k = 0; k < steps; k++) s->square[k] += squares[k * n + index];
}

static void fill_in(jf_cascade_class *out, const sums *s, int steps, const char *name) {
    *out = (jf_cascade_class){.images = (int64_t)s->images};
    memcpy(out->name, name, strlen(name) + 1);
    for (int k = 0; k < steps; k++) out->psnr[k] = psnr(s->square[k], s->images);
}

static jf_status add_some(const cascade *c, const pictures *p, const jf_cascade_options *q, long at, int n,
                          sums all[MAX_CLASSES + 1], double *y_error) {
    image_array images;
    jf_cascade_result r;
    double squares[JF_CASCADE_MOST * TOGETHER];
    jf_cascade_options some = *q;
    some.first = (uint64_t)at;
    JF_TRY(image_array_create(c->ctx, &images, n, p->t->size.h, p->t->size.w, p->t->image_channels));
    for (int i = 0; i < n; i++) picture_at(p, at + i, image_at(&images, i));
    jf_status status = cascade_enlarge(c, &images, &some, &r, squares);
    image_array_free(&images);
    if (status != JF_OK) return status;
    for (int i = 0; i < n; i++) {
        add_image(&all[0], c->steps, squares, n, i);
        if (p->set.labels) add_image(&all[1 + p->set.labels[row_of(p, at + i)]], c->steps, squares, n, i);
    }
    *y_error += r.y_error * n;
    cascade_result_free(&r);
    return JF_OK;
}

jf_status cascade_score(const cascade *c, const jf_cascade_test *test, const jf_cascade_options *q,
                        jf_cascade_scores *out) {
    pictures p = {.count = 0};
    sums all[MAX_CLASSES + 1] = {{0}};
    jf_cascade_options options = *q;
    jf_status status;
    options.together = 0;
    options.of_samples = 0;
    *out = (jf_cascade_scores){.steps = (size_t)c->steps};
    JF_TRY_DONE(pictures_open(c, test, &p));
    JF_TRY_DONE(MEM_NEW(c->ctx, &out->of, MAX_CLASSES + 1));
    for (long at = 0; at < p.count; at += TOGETHER) {
        int n = p.count - at < TOGETHER ? (int)(p.count - at) : TOGETHER;
        JF_TRY_DONE(add_some(c, &p, &options, at, n, all, &out->y_error));
    }
    out->y_error /= (double)p.count;
    fill_in(&out->of[out->count++], &all[0], c->steps, "");
    for (int k = 0; p.set.labels && k < p.set.classes; k++)
        if (all[1 + k].images > 0)
            fill_in(&out->of[out->count++], &all[1 + k], c->steps, p.set.class_name[k]);
done:
    pictures_free(&p);
    if (status != JF_OK) cascade_scores_free(out);
    return status;
}

void cascade_scores_free(jf_cascade_scores *s) {
    free(s->of);
    s->of = NULL;
    s->count = 0;
}
