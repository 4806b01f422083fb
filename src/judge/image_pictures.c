/* Pictures of image models: samples of every class, or reconstructions of held-out images beside their truth.
 */
#include "draw/draw.h"
#include "inference/image_conditions.h"
#include "judge/judge_pictures.h"
#include "model/use.h"
#include <stdlib.h>
#include <string.h>

#define COLUMNS   10
#define ROWS      8 /* inputs that are shown */
#define GIVEN     2 /* truth and input stand before the samples */
#define MOST_ROWS 10

typedef struct sheet {
    const model *m;
    task *t;
    int rows;
    size_t dim, dim_x, pixels;  /* pixels: numbers of an image */
    double *state;              /* (rows, COLUMNS, dim), the data's units */
    double *images;             /* (rows, COLUMNS, pixels) */
    const double *y[MOST_ROWS]; /* (dim_y) of each row, as it is asked for; NULL of classes */
    const char *labels[MOST_ROWS], *columns[COLUMNS];
} sheet;

static double *cell(const sheet *s, int row, int column) {
    return s->images + ((size_t)row * COLUMNS + (size_t)column) * s->pixels;
}

static double *sample_at(const sheet *s, int row, int column) {
    return s->state + ((size_t)row * COLUMNS + (size_t)column) * s->dim;
}

/* The condition as an image: its channels but for a mask, or one of them for all. */
static void show_condition(const sheet *s, const double *y, double *image) {
    size_t cy = (size_t)s->t->size.y_channels, c = (size_t)s->t->image_channels;
    for (size_t i = 0; i < s->pixels; i++) image[i] = y[i / c * cy + (cy >= c ? i % c : 0)];
}

/* y of every sample of a row. */
static void set_class(sheet *s, int row) {
    const model_units *u = &s->m->units;
    s->labels[row] = u->class_name[row];
    for (int k = 0; k < COLUMNS; k++) units_fill_y(u, u->label[row], sample_at(s, row, k) + s->dim_x);
}

static void set_input(sheet *s, int row, const double *clean) {
    for (int k = 0; k < COLUMNS; k++) memcpy(sample_at(s, row, k), clean, s->dim * sizeof *clean);
    s->y[row] = clean + s->dim_x;
    s->t->kind->restore(s->t, clean, clean + s->dim_x, cell(s, row, 0));
    show_condition(s, clean + s->dim_x, cell(s, row, 1));
}

/* Images are restored with the y that was asked for, not with what came back: they differ by the y error. */
static jf_status sample_rows(sheet *s, uint64_t seed, int first_column) {
    JF_TRY(model_sample(s->m, (latent_points){seed, LATENT_SAMPLES, 0, 1}, DATA_UNITS,
                        (long)s->rows * COLUMNS, s->state, NULL));
    for (int r = 0; r < s->rows; r++)
        for (int k = first_column; k < COLUMNS; k++) {
            const double *row = sample_at(s, r, k);
            s->t->kind->restore(s->t, row, s->y[r] ? s->y[r] : row + s->dim_x, cell(s, r, k));
        }
    return JF_OK;
}

/* Samples that other models made larger, as they were judged: a class has fewer where few images were judged.
 */
static jf_status picture_sheet(const model *m, const judgement *j, const char *path) {
    const image_array *images = &j->sheet;
    unsigned char blank[MOST_ROWS * SHEET_EACH];
    const char *labels[MOST_ROWS];
    int rows = m->units.classes > MOST_ROWS ? MOST_ROWS : m->units.classes;
    if (images->channels != 1 && images->channels != 3) return JF_OK;
    for (int i = 0; i < rows * SHEET_EACH; i++) blank[i] = i % SHEET_EACH >= j->sheet_each[i / SHEET_EACH];
    for (int r = 0; r < rows; r++) labels[r] = m->units.class_name[r];
    image_grid grid = {.count = rows * SHEET_EACH,
                       .height = images->h,
                       .width = images->w,
                       .channels = images->channels,
                       .values = images->values,
                       .columns = SHEET_EACH,
                       .row_labels = labels,
                       .blank = blank};
    return draw_images(m->ctx, path, &grid, NULL);
}

jf_status picture_images(const model *m, const judgement *j, uint64_t seed, const char *path) {
    if (j->sheet.count) return picture_sheet(m, j, path);
    sheet s = {.m = m, .dim = (size_t)m->flow->dim, .dim_x = (size_t)m->units.dim_x};
    jf_status status;
    JF_TRY_DONE(model_task(m, &s.t));
    if (s.t->image_channels != 1 && s.t->image_channels != 3)
        goto done; /* neither grey nor colour: no picture */
    int classes = m->units.classes, by_input = m->units.dim_y > 0 && classes == 0;
    s.rows = classes > MOST_ROWS ? MOST_ROWS : classes ? classes : ROWS;
    s.pixels = (size_t)(s.t->size.h * s.t->size.w * s.t->image_channels);
    JF_TRY_DONE(MEM_NEW(m->ctx, &s.state, (size_t)s.rows * COLUMNS * s.dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &s.images, (size_t)s.rows * COLUMNS * s.pixels));
    for (int r = 0; r < s.rows; r++)
        if (classes)
            set_class(&s, r);
        else if (by_input)
            set_input(&s, r, j->clean + (size_t)(r * j->points / s.rows) * s.dim);
    JF_TRY_DONE(sample_rows(&s, seed, by_input ? GIVEN : 0));
    s.columns[0] = "truth";
    s.columns[1] = "input";
    s.columns[GIVEN] = "samples";
    for (int k = GIVEN + 1; k < COLUMNS; k++) s.columns[k] = "";
    image_grid grid = {.count = s.rows * COLUMNS,
                       .height = s.t->size.h,
                       .width = s.t->size.w,
                       .channels = s.t->image_channels,
                       .values = s.images,
                       .columns = COLUMNS,
                       .row_labels = classes ? s.labels : NULL,
                       .column_labels = by_input ? s.columns : NULL};
    JF_TRY_DONE(draw_images(m->ctx, path, &grid, NULL));
done:
    task_free(s.t);
    free(s.state);
    free(s.images);
    return status;
}
