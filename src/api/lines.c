/* Public: answers along lines in z and in y. */
#include "api/image.h"
#include "base/number.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUARTER_TURN 1.5707963267948966

void jf_lines_free(jf_lines *lines) {
    free(lines->z);
    free(lines->y);
    free(lines->x);
    *lines = (jf_lines){0};
}

static jf_status lines_create(const model *m, jf_lines *out, int lines, int each, int steps, int along_y) {
    *out = (jf_lines){0};
    if (lines < 1 || each < 1 || steps < 2 || (double)lines * each * steps > INT_MAX)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "%d lines of %d steps for each of %d conditions, expected at least 1, 2 and 1", lines,
                       steps, each);
    jf_lines made = {.rows = lines * each, .steps = steps, .along_y = along_y, .conditions = each};
    size_t points = (size_t)made.rows * (size_t)steps;
    jf_status status = mem_alloc(m->ctx, &made.z, points, (size_t)m->units.dim_x * sizeof(double));
    if (status == JF_OK)
        status = mem_alloc(m->ctx, &made.y, points + 1, (size_t)m->units.dim_y * sizeof(double));
    if (status == JF_OK) status = mem_alloc(m->ctx, &made.x, points, (size_t)m->units.dim_x * sizeof(double));
    if (status == JF_OK)
        *out = made;
    else
        jf_lines_free(&made);
    return status;
}

/* Latent points (n, dim_x), those that jf_sample() draws for the same seed. */
static jf_status draw_points(const model *m, int n, const jf_use_options *options, double **out) {
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x;
    double *state;
    JF_TRY(mem_alloc(m->ctx, &state, (size_t)n, dim * sizeof(double)));
    jf_status status = mem_alloc(m->ctx, out, (size_t)n, dim_x * sizeof(double));
    if (status == JF_OK) {
        model_draw_latent(m, (latent_points){options ? options->seed : 0, LATENT_SAMPLES, 0}, n, state);
        for (size_t i = 0; i < (size_t)n; i++)
            memcpy(*out + i * dim_x, state + i * dim, dim_x * sizeof(double));
    }
    free(state);
    return status;
}

/* Decodes z and y; frees all of it on a failure. */
static jf_status lines_answer(const model *m, jf_lines *lines, const jf_use_options *options) {
    jf_status status = jf_decode(m, lines->rows * lines->steps, lines->z, lines->y, lines->x, NULL, options);
    if (status != JF_OK) jf_lines_free(lines);
    return status;
}

jf_status jf_lines_along_z(const jf_model *m, jf_lines *out, int lines, int steps, int conditions,
                           const double *y, const jf_use_options *options) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y;
    double *ends;
    JF_TRY(lines_create(m, out, lines, conditions, steps, 0));
    jf_status status = check_rows(m, conditions, out->z, y);
    if (status == JF_OK) status = draw_points(m, 2 * lines, options, &ends);
    if (status != JF_OK) {
        jf_lines_free(out);
        return status;
    }
    for (size_t i = 0; i < (size_t)out->rows * (size_t)steps; i++) {
        size_t row = i / (size_t)steps, line = row / (size_t)conditions, condition = row % (size_t)conditions;
        double t = QUARTER_TURN * (double)(i % (size_t)steps) / (steps - 1);
        const double *z1 = ends + 2 * line * dim_x, *z2 = z1 + dim_x;
        for (size_t e = 0; e < dim_x; e++) out->z[i * dim_x + e] = cos(t) * z1[e] + sin(t) * z2[e];
        for (size_t e = 0; e < dim_y; e++) out->y[i * dim_y + e] = y[condition * dim_y + e];
    }
    free(ends);
    return lines_answer(m, out, options);
}

jf_status jf_lines_along_y(const jf_model *m, jf_lines *out, int lines, int steps, const double *from,
                           const double *to, const jf_use_options *options) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y;
    double *points;
    *out = (jf_lines){0};
    if (dim_y == 0) return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED, "a line in y: this model has no condition");
    if (!from || !to) return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "a line in y: no ends were given");
    JF_TRY(lines_create(m, out, lines, 1, steps, 1));
    jf_status status = draw_points(m, lines, options, &points);
    if (status != JF_OK) {
        jf_lines_free(out);
        return status;
    }
    for (size_t i = 0; i < (size_t)out->rows * (size_t)steps; i++) {
        double t = (double)(i % (size_t)steps) / (steps - 1);
        memcpy(out->z + i * dim_x, points + i / (size_t)steps * dim_x, dim_x * sizeof(double));
        for (size_t e = 0; e < dim_y; e++) out->y[i * dim_y + e] = (1 - t) * from[e] + t * to[e];
    }
    free(points);
    return lines_answer(m, out, options);
}

/* ---- the picture ---- */

/* Words of rows and columns: y is what people know, latent points are only counted. */
typedef struct line_words {
    const char **rows, **columns;
    char (*words)[MAX_CLASS_NAME + 32]; /* (rows + steps) */
} line_words;

static void line_words_free(line_words *w) {
    free(w->rows);
    free(w->columns);
    free(w->words);
}

static jf_status line_words_create(const model *m, const jf_lines *l, line_words *w) {
    size_t dim_y = (size_t)m->units.dim_y;
    JF_TRY(MEM_NEW(m->ctx, &w->rows, (size_t)l->rows));
    JF_TRY(MEM_NEW(m->ctx, &w->columns, (size_t)l->steps));
    JF_TRY(mem_alloc(m->ctx, &w->words, (size_t)(l->rows + l->steps), sizeof *w->words));
    for (int i = 0; i < l->rows; i++) {
        char *word = w->words[i], name[MAX_CLASS_NAME + 16] = "";
        w->rows[i] = word;
        if (!l->along_y && m->units.classes)
            class_words(m, l->y[(size_t)i * (size_t)l->steps * dim_y], name, sizeof name);
        if (l->rows == l->conditions && name[0])
            number_print(word, sizeof *w->words, "%s", name);
        else
            number_print(word, sizeof *w->words, "z %d%s%s", i / l->conditions + 1, name[0] ? ", " : "",
                         name);
    }
    for (int i = 0; i < l->steps; i++) {
        char *word = w->words[l->rows + i];
        w->columns[i] = word;
        if (l->along_y && m->units.classes)
            class_words(m, l->y[(size_t)i * dim_y], word, sizeof *w->words);
        else
            number_print(word, sizeof *w->words, "%.2f", (double)i / (l->steps - 1));
    }
    return JF_OK;
}

static int is_class(const model *m, double y) {
    for (int c = 0; c < m->units.classes; c++)
        if (fabs(m->units.label[c] - y) < 1e-9) return 1;
    return 0;
}

jf_status jf_lines_draw(const jf_model *m, const jf_lines *l, const char *title, int full_range,
                        const char *path) {
    int count = l->rows * l->steps;
    jf_images images = {0};
    jf_grid_cell *cells = NULL;
    line_words words = {0};
    jf_status status;
    JF_TRY_DONE(jf_restore(m, &images, count, l->x, l->y));
    JF_TRY_DONE(MEM_NEW(m->ctx, &cells, (size_t)count));
    JF_TRY_DONE(line_words_create(m, l, &words));
    for (int i = 0; i < count; i++)
        cells[i] = (jf_grid_cell){.values = image_at(&images, i),
                                  .h = images.h,
                                  .w = images.w,
                                  .channels = images.channels,
                                  .boxed = l->along_y && m->units.classes &&
                                           is_class(m, l->y[(size_t)i * (size_t)m->units.dim_y])};
    JF_TRY_DONE(jf_grid_draw(m->ctx,
                             &(jf_grid){.rows = l->rows,
                                        .columns = l->steps,
                                        .cells = cells,
                                        .row_labels = words.rows,
                                        .column_labels = words.columns,
                                        .title = title,
                                        .full_range = full_range},
                             path));
done:
    jf_images_free(&images);
    free(cells);
    line_words_free(&words);
    return status;
}
