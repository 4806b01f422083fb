/* Pictures of samples of images. */
#include "base/memory.h"
#include "base/number.h"
#include "draw/draw.h"
#include "inference/pictures.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PANELS = 25, MAX_PER_PANEL = 400, EDGE = 60 };

/* What is drawn: n rows of x and y, or images that were made of them. */
typedef struct drawn {
    int n;
    const double *x, *y;
    const image_array *images; /* NULL: those of the rows */
} drawn;

/* Samples by their y: rows of the same one, in their order of appearance. */
typedef struct answers {
    image_array images;     /* of all rows */
    image_array conditions; /* (count) of what each y looks like; none where y is a class */
    int *of;                /* (rows): to which y each belongs; -1 for those past MAX_PANELS */
    int count;
    int first[MAX_PANELS], rows[MAX_PANELS]; /* of each y: its first row, and how many are shown */
    double low, high;
} answers;

static void answers_free(answers *a) {
    image_array_free(&a->images);
    image_array_free(&a->conditions);
    free(a->of);
}

/* Returns how many rows find no place. */
static int sort_rows(const model *m, int n, const double *y, answers *a) {
    size_t dim = (size_t)m->units.dim_y;
    int left_out = 0;
    for (int i = 0; i < n; i++) {
        a->of[i] = -1;
        for (int k = 0; k < a->count && a->of[i] < 0; k++)
            if (!dim || memcmp(y + (size_t)i * dim, y + (size_t)a->first[k] * dim, dim * sizeof(double)) == 0)
                a->of[i] = k;
        if (a->of[i] < 0 && a->count < MAX_PANELS) {
            a->of[i] = a->count;
            a->first[a->count++] = i;
        }
        if (a->of[i] < 0 || a->rows[a->of[i]] == MAX_PER_PANEL)
            left_out++;
        else
            a->rows[a->of[i]]++;
    }
    return left_out;
}

/* What an x of 0 makes of each condition: the degraded image. */
static jf_status condition_images(const model *m, const task *t, const double *y, answers *a) {
    double *none = NULL, *rows = NULL; /* (dim_x) of 0 and (count, dim_y) */
    size_t dim_y = (size_t)m->units.dim_y, count = (size_t)a->count;
    jf_status status = JF_OK;
    if (m->units.classes || !dim_y) return JF_OK;
    JF_TRY_DONE(MEM_NEW(m->ctx, &none, (size_t)m->units.dim_x));
    JF_TRY_DONE(MEM_NEW(m->ctx, &rows, count * dim_y));
    for (size_t k = 0; k < count; k++)
        memcpy(rows + k * dim_y, y + (size_t)a->first[k] * dim_y, dim_y * sizeof(double));
    JF_TRY_DONE(restore_images(t, a->count, (row_view){none, 0}, (row_view){rows, dim_y}, &a->conditions));
done:
    free(none);
    free(rows);
    return status;
}

static void stretch_each(image_array *images) {
    size_t size = image_numbers(images);
    for (int i = 0; i < images->count; i++) {
        double *values = image_at(images, i), low, high;
        draw_range((long)size, values, 1, 0, &low, &high);
        for (size_t k = 0; high > low && k < size; k++) values[k] = (values[k] - low) / (high - low);
    }
}

static jf_status copy_images(const model *m, const image_array *from, image_array *out) {
    JF_TRY(image_array_create(m->ctx, out, from->count, from->h, from->w, from->channels));
    memcpy(out->values, from->values, (size_t)from->count * image_numbers(from) * sizeof(double));
    return JF_OK;
}

/* Conditions are shown in the size of the model's own images. */
static jf_status take_images(const model *m, const task *t, const drawn *d, answers *a) {
    if (d->images) return copy_images(m, d->images, &a->images);
    JF_TRY(restore_images(t, d->n, (row_view){d->x, (size_t)m->units.dim_x},
                          (row_view){d->y, (size_t)m->units.dim_y}, &a->images));
    return condition_images(m, t, d->y, a);
}

static jf_status answers_create(const model *m, const drawn *d, int full_range, answers *a,
                                const char *path) {
    int n = d->n;
    JF_TRY(MEM_NEW(m->ctx, &a->of, (size_t)n + 1));
    int left_out = sort_rows(m, n, d->y, a);
    if (left_out)
        jf_log(m->ctx, "%s: the first %d images of the first %d values of y are drawn, %d are left out", path,
               MAX_PER_PANEL, MAX_PANELS, left_out);
    task *t;
    JF_TRY(model_task(m, &t));
    jf_status status = take_images(m, t, d, a);
    if (status == JF_OK && full_range == 2) stretch_each(&a->images);
    if (status == JF_OK && full_range == 1)
        draw_range((long)n * (long)image_numbers(&a->images), a->images.values, 1, 0, &a->low, &a->high);
    task_free(t);
    return status;
}

/* images of one y, `across` per row; where the condition is an image, it comes first, in a frame. */
static jf_status paint_answer(panel *p, const model *m, const answers *a, int k, int across) {
    size_t size = image_numbers(&a->images);
    int extra = a->conditions.count > 0, shown = 0;
    unsigned char boxed[MAX_PER_PANEL + 1] = {0};
    double *values;
    JF_TRY(mem_alloc(m->ctx, &values, MAX_PER_PANEL + 1, size * sizeof(double)));
    if (extra) memcpy(values, image_at(&a->conditions, k), size * sizeof(double));
    boxed[0] = (unsigned char)extra;
    for (int i = a->first[k]; shown < a->rows[k]; i++)
        if (a->of[i] == k)
            memcpy(values + (size_t)(extra + shown++) * size, image_at(&a->images, i), size * sizeof(double));
    panel_images(p, &(image_grid){.count = shown + extra,
                                  .height = a->images.h,
                                  .width = a->images.w,
                                  .channels = a->images.channels,
                                  .values = values,
                                  .columns = across,
                                  .low = a->low,
                                  .high = a->high,
                                  .boxed = boxed});
    free(values);
    return JF_OK;
}

/* Units of a panel in which an image is about EDGE long, or less where there are many. */
static void panel_size(const image_array *images, int across, int down, int *width, int *height) {
    const double gap = 5, margins = 26, title = 24;
    int longest = images->h > images->w ? images->h : images->w;
    double pixel = fmin(EDGE, 900.0 / across) / longest;
    if (pixel * DRAW_SCALE >= 1) pixel = floor(pixel * DRAW_SCALE) / DRAW_SCALE; /* as it will be drawn */
    *width = (int)(across * (images->w * pixel + gap) + margins);
    *height = (int)(down * (images->h * pixel + gap) + margins + title);
}

static void title_answer(panel *p, const model *m, const double *y, int k) {
    char title[96];
    if (m->units.classes)
        class_words(m, y, title, sizeof title);
    else
        format_text(title, sizeof title, "condition %d", k + 1);
    panel_title(p, title);
}

static jf_status paint(const model *m, const drawn *d, int full_range, const char *path) {
    const double *y = d->y;
    answers a = {0};
    figure *fig = NULL;
    int most = 1;
    size_t dim_y = (size_t)m->units.dim_y;
    jf_status status;
    JF_TRY_DONE(answers_create(m, d, full_range, &a, path));
    for (int k = 0; k < a.count; k++) most = a.rows[k] > most ? a.rows[k] : most;
    most += a.conditions.count > 0;
    int across = (int)ceil(sqrt(most)), down = (most + across - 1) / across;
    int columns = a.count < 1 ? 1 : a.count <= 3 ? a.count : (int)ceil(sqrt(a.count));
    int width, height;
    panel_size(&a.images, across, down, &width, &height);
    JF_TRY_DONE(figure_create(m->ctx, &fig, a.count < 1 ? 1 : (a.count + columns - 1) / columns, columns,
                              width, height, NULL));
    for (int k = 0; k < a.count; k++) {
        panel *p = figure_panel(fig, k / columns, k % columns);
        if (dim_y) title_answer(p, m, y + (size_t)a.first[k] * dim_y, k);
        JF_TRY_DONE(paint_answer(p, m, &a, k, across));
    }
    JF_TRY_DONE(figure_save(fig, path));
done:
    figure_free(fig);
    answers_free(&a);
    return status;
}

jf_status picture_image_samples(const model *m, int n, const double *x, const double *y, int full_range,
                                const char *path) {
    return paint(m, &(drawn){.n = n, .x = x, .y = y}, full_range, path);
}

jf_status picture_images_of(const model *m, const image_array *images, const double *y, int full_range,
                            const char *path) {
    return paint(m, &(drawn){.n = images->count, .y = y, .images = images}, full_range, path);
}
