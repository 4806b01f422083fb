/* Pictures in rows and columns: lines, and super-resolution in two steps. */
#include "answer/pictures.h"
#include "base/memory.h"
#include "base/number.h"
#include "draw/draw.h"
#include <stdlib.h>

void class_words(const model *m, double y, char *out, size_t size) {
    int c = units_class_of(&m->units, y);
    if (c >= 0 && m->units.class_name[c][0])
        number_print(out, size, "%s", m->units.class_name[c]);
    else
        number_print(out, size, "y = %.4g", y);
}

static image_cell cell_of(const image_array *images, int index) {
    return (image_cell){
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

static jf_status line_words_create(const model *m, const answer_lines *l, line_words *w) {
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

static jf_status restore_lines(const model *m, const answer_lines *l, image_array *out) {
    task *t;
    JF_TRY(model_task(m, &t));
    jf_status status = restore_images(t, l->rows * l->steps, (row_view){l->x, (size_t)m->units.dim_x},
                                      (row_view){l->y, (size_t)m->units.dim_y}, out);
    task_free(t);
    return status;
}

jf_status picture_lines(const model *m, const answer_lines *l, const char *title, int full_range,
                        const char *path) {
    int count = l->rows * l->steps;
    image_array images = {0};
    image_cell *cells = NULL;
    line_words words = {0};
    jf_status status;
    JF_TRY_DONE(restore_lines(m, l, &images));
    JF_TRY_DONE(MEM_NEW(m->ctx, &cells, (size_t)count));
    JF_TRY_DONE(line_words_create(m, l, &words));
    for (int i = 0; i < count; i++) {
        cells[i] = cell_of(&images, i);
        cells[i].boxed = l->along_y && m->units.classes &&
                         units_class_of(&m->units, l->y[(size_t)i * (size_t)m->units.dim_y]) >= 0;
    }
    JF_TRY_DONE(draw_cells(m->ctx, path,
                           &(cell_grid){.rows = l->rows,
                                        .columns = l->steps,
                                        .cells = cells,
                                        .row_labels = words.rows,
                                        .column_labels = words.columns,
                                        .title = title,
                                        .full_range = full_range}));
done:
    image_array_free(&images);
    free(cells);
    line_words_free(&words);
    return status;
}

/* ---- super-resolution ---- */

/* Truth and input stand before the first row. */
jf_status picture_superres(jf_context *ctx, const superres_result *r, const char *title, int full_range,
                           const char *path) {
    int known = r->truth.count > 0, fine = r->fine.count / r->coarse.count, columns = known + 2 + fine;
    image_cell *cells = NULL;
    const char **labels = NULL;
    char(*words)[24] = NULL; /* (columns) */
    jf_status status;
    JF_TRY_DONE(MEM_NEW(ctx, &cells, (size_t)r->coarse.count * (size_t)columns));
    JF_TRY_DONE(MEM_NEW(ctx, &labels, (size_t)columns));
    JF_TRY_DONE(mem_alloc(ctx, &words, (size_t)columns, sizeof *words));
    if (known) cells[0] = cell_of(&r->truth, 0);
    cells[known] = cell_of(&r->input, 0);
    for (int i = 0; i < r->coarse.count; i++) {
        image_cell *row = cells + (size_t)i * (size_t)columns + known + 1;
        row[0] = cell_of(&r->coarse, i);
        for (int k = 0; k < fine; k++) row[1 + k] = cell_of(&r->fine, i * fine + k);
    }
    for (int c = 0; c < columns; c++) {
        const image_array *of = c < known + 1 ? &r->input : c == known + 1 ? &r->coarse : &r->fine;
        if (c < known)
            number_print(words[c], sizeof *words, "truth");
        else if (c <= known + 2)
            number_print(words[c], sizeof *words, "%d x %d", of->h, of->w);
        labels[c] = words[c];
    }
    JF_TRY_DONE(draw_cells(ctx, path,
                           &(cell_grid){.rows = r->coarse.count,
                                        .columns = columns,
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
