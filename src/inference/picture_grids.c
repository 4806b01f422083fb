/* Pictures in rows and columns: lines, and super-resolution in steps. */
#include "base/memory.h"
#include "base/number.h"
#include "draw/draw.h"
#include "inference/pictures.h"
#include <stdlib.h>

/* Of planes the strongest: a number between two classes would be that of a third. */
static void plane_words(const model_units *u, const double *y, char *out, size_t size) {
    int most = 0;
    for (int k = 1; k < u->classes; k++)
        if (y[k] > y[most] + 1e-9) most = k; /* of two alike the first */
    if (u->class_name[most][0])
        format_text(out, size, "%s %.2g", u->class_name[most], y[most]);
    else
        format_text(out, size, "%g: %.2g", u->label[most], y[most]);
}

void class_words(const model *m, const double *y, char *out, size_t size) {
    int c = units_class_of(&m->units, y);
    if (c >= 0 && m->units.class_name[c][0])
        format_text(out, size, "%s", m->units.class_name[c]);
    else if (c < 0 && units_planes(&m->units))
        plane_words(&m->units, y, out, size);
    else
        format_text(out, size, "y = %.4g", units_label_of(&m->units, y));
}

static jf_grid_cell cell_of(const image_array *images, int index) {
    return (jf_grid_cell){
        .values = image_at(images, index), .h = images->h, .w = images->w, .channels = images->channels};
}

/* ---- lines ---- */

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
    JF_TRY(MEM_NEW(m->ctx, &w->rows, l->rows));
    JF_TRY(MEM_NEW(m->ctx, &w->columns, l->steps));
    JF_TRY(mem_alloc(m->ctx, &w->words, l->rows + l->steps, sizeof *w->words));
    for (size_t i = 0; i < l->rows; i++) {
        char *word = w->words[i], name[MAX_CLASS_NAME + 16] = "";
        w->rows[i] = word;
        if (!l->along_y && m->units.classes) class_words(m, l->y + i * l->steps * dim_y, name, sizeof name);
        if (l->rows == l->conditions && name[0])
            format_text(word, sizeof *w->words, "%s", name);
        else
            format_text(word, sizeof *w->words, "z %zu%s%s", i / l->conditions + 1, name[0] ? ", " : "",
                        name);
    }
    for (size_t i = 0; i < l->steps; i++) {
        char *word = w->words[l->rows + i];
        w->columns[i] = word;
        if (l->along_y && m->units.classes)
            class_words(m, l->y + i * dim_y, word, sizeof *w->words);
        else
            format_text(word, sizeof *w->words, "%.2f", (double)i / (double)(l->steps - 1));
    }
    return JF_OK;
}

static jf_status restore_lines(const model *m, const jf_lines *l, image_array *out) {
    task *t;
    JF_TRY(model_task(m, &t));
    jf_status status = restore_images(t, (int)(l->rows * l->steps), (row_view){l->x, (size_t)m->units.dim_x},
                                      (row_view){l->y, (size_t)m->units.dim_y}, out);
    task_free(t);
    return status;
}

jf_status picture_lines(const model *m, const jf_lines *l, const image_array *images, const char *title,
                        int full_range, const char *path) {
    size_t count = l->rows * l->steps;
    image_array own = {0};
    jf_grid_cell *cells = NULL;
    line_words words = {0};
    jf_status status;
    JF_TRY(draw_check_cells(m->ctx, l->rows, l->steps));
    if (!images) JF_TRY_DONE(restore_lines(m, l, &own));
    if (images && (size_t)images->count != count)
        JF_TRY_DONE(jf_fail(m->ctx, JF_ERROR_ARGUMENT, "%d images of %zu lines of %zu steps, expected %zu",
                            images->count, l->rows, l->steps, count));
    JF_TRY_DONE(MEM_NEW(m->ctx, &cells, count));
    JF_TRY_DONE(line_words_create(m, l, &words));
    for (size_t i = 0; i < count; i++) {
        cells[i] = cell_of(images ? images : &own, (int)i);
        cells[i].boxed = l->along_y && m->units.classes &&
                         units_class_of(&m->units, l->y + i * (size_t)m->units.dim_y) >= 0;
    }
    JF_TRY_DONE(draw_cells(m->ctx, path,
                           &(jf_grid){.rows = l->rows,
                                      .columns = l->steps,
                                      .cells = cells,
                                      .row_labels = words.rows,
                                      .column_labels = words.columns,
                                      .title = title,
                                      .full_range = full_range}));
done:
    image_array_free(&own);
    free(cells);
    line_words_free(&words);
    return status;
}

/* ---- super-resolution ---- */

/* A row for each image of the first step: it, and what the further steps made of it. One step alone fills a
 * row. */
typedef struct cascade_grid {
    image_array truth, input, made[JF_CASCADE_MOST];
    int steps, known, rows, columns;
} cascade_grid;

static cascade_grid grid_of(const jf_cascade_result *r) {
    cascade_grid g = {.truth = images_taken(&r->truth), .input = images_taken(&r->input)};
    g.steps = (int)r->steps;
    g.known = g.truth.count > 0;
    g.rows = g.steps > 1 ? (int)r->made[0].count : 1;
    g.columns = g.known + 1;
    for (int k = 0; k < g.steps; k++) {
        g.made[k] = images_taken(&r->made[k]);
        g.columns += g.made[k].count / g.rows;
    }
    return g;
}

/* Truth and input stand before the first row; the first of a step says how large its images are. */
static void fill_grid(const cascade_grid *g, jf_grid_cell *cells, char (*words)[24]) {
    if (g->known) cells[0] = cell_of(&g->truth, 0);
    if (g->known) format_text(words[0], sizeof *words, "truth");
    cells[g->known] = cell_of(&g->input, 0);
    format_text(words[g->known], sizeof *words, "%d x %d", g->input.h, g->input.w);
    for (int k = 0, column = g->known + 1; k < g->steps; k++) {
        const image_array *made = &g->made[k];
        int each = made->count / g->rows;
        format_text(words[column], sizeof *words, "%d x %d", made->h, made->w);
        for (int i = 0; i < made->count; i++)
            cells[(size_t)(i / each) * (size_t)g->columns + (size_t)(column + i % each)] = cell_of(made, i);
        column += each;
    }
}

jf_status picture_cascade(jf_context *ctx, const jf_cascade_result *r, const char *title, int full_range,
                          const char *path) {
    cascade_grid g = grid_of(r);
    jf_grid_cell *cells = NULL;
    const char **labels = NULL;
    char(*words)[24] = NULL; /* (columns) */
    jf_status status;
    JF_TRY_DONE(MEM_NEW(ctx, &cells, (size_t)g.rows * (size_t)g.columns));
    JF_TRY_DONE(MEM_NEW(ctx, &labels, (size_t)g.columns));
    JF_TRY_DONE(mem_alloc(ctx, &words, (size_t)g.columns, sizeof *words));
    fill_grid(&g, cells, words);
    for (int c = 0; c < g.columns; c++) labels[c] = words[c];
    JF_TRY_DONE(draw_cells(ctx, path,
                           &(jf_grid){.rows = (size_t)g.rows,
                                      .columns = (size_t)g.columns,
                                      .cells = cells,
                                      .column_labels = labels,
                                      .title = title,
                                      .full_range = full_range}));
done:
    free(cells);
    free(labels);
    free(words);
    return status;
}
