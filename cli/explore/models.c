#include "models.h"
#include "cascade_option.h"
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATA_ROWS = 4000, DATA_SEED = 1 }; /* that are drawn behind the samples */

explorer *explorer_create(void) {
    explorer *e = calloc(1, sizeof *e);
    if (e && cli_context_create(&e->ctx) != JF_OK) {
        free(e);
        return NULL;
    }
    return e;
}

/* Gives a model back; 0 where its judgement goes on and uses it. */
static int free_model(shown_model *s) {
    int ended = verdict_free(s->verdict);
    if (ended) jf_cascade_free(s->cascade);
    if (ended) jf_model_free(s->m);
    free(s->name);
    free(s->call);
    free(s->lo);
    free(s->hi);
    free(s->data_x);
    free(s->data_y);
    return ended;
}

void explorer_free(explorer *e) {
    int ended = 1;
    if (!e) return;
    for (int i = 0; i < e->count; i++) ended &= free_model(&e->models[i]);
    free(e->models);
    if (ended) jf_context_free(e->ctx);
    free(e);
}

/* ---- what is known of a model ---- */

static jf_status no_memory(void) {
    return JF_ERROR_MEMORY;
}

static jf_status find_ranges(shown_model *s) {
    size_t dim_y = (size_t)s->dim_y;
    if (s->form.h > 0 || dim_y == 0) return JF_OK;
    s->lo = calloc(dim_y, sizeof *s->lo);
    s->hi = calloc(dim_y, sizeof *s->hi);
    if (!s->lo || !s->hi) return no_memory();
    s->has_range = 1;
    for (int i = 0; i < s->dim_y && s->has_range; i++)
        s->has_range = jf_model_y_range(s->m, i, &s->lo[i], &s->hi[i]) == JF_OK;
    return JF_OK;
}

static jf_status find_data(explorer *e, shown_model *s) {
    if (s->form.h > 0) return JF_OK;
    s->data_x = calloc((size_t)DATA_ROWS * (size_t)s->dim_x, sizeof *s->data_x);
    s->data_y = calloc((size_t)DATA_ROWS * (size_t)(s->dim_y + 1), sizeof *s->data_y);
    if (!s->data_x || !s->data_y) return no_memory();
    if (jf_data_rows(s->m, DATA_ROWS, -1, DATA_SEED, &s->data_rows, s->data_x, s->data_y) != JF_OK) {
        s->data_rows = 0;
        snprintf(s->no_data, sizeof s->no_data, "%s", jf_context_error(e->ctx));
    }
    return JF_OK;
}

/* Without the models that make its images larger they are shown as they are, and the page says why. */
static void find_cascade(explorer *e, shown_model *s, const jf_load_options *device) {
    const jf_model *step;
    jf_image_form form = {.size = sizeof form};
    if (jf_cascade_load(&s->cascade, e->ctx, NULL, s->m, device) != JF_OK)
        snprintf(s->no_cascade, sizeof s->no_cascade, "%s", jf_context_error(e->ctx));
    for (size_t i = 0; (step = jf_cascade_model(s->cascade, i)); i++)
        if (jf_model_image_form(&form, step) == JF_OK) {
            s->large_h = form.h;
            s->large_w = form.w;
        }
}

long shown_numbers(const shown_model *s) {
    long large = (long)s->large_h * s->large_w * s->form.channels;
    return large > s->dim_x ? large : s->dim_x;
}

jf_status shown_images(const shown_model *s, size_t n, const double *x, const double *y,
                       const jf_cascade_options *options, jf_images *out) {
    jf_status status = jf_restore(out, s->m, n, x, y);
    if (status == JF_OK) status = cascade_replace(s->cascade, options, out);
    if (status != JF_OK) jf_images_free(out);
    return status;
}

/* ---- models by name ---- */

/* "fashion/14-28" of "models/fashion/14-28.safetensors", one of several that are called "fashion": as
 * commands take it. */
static char *name_of_file(const char *path, const char *together) {
    static const char ending[] = ".safetensors";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name), end = strlen(ending);
    if (length > end && strcmp(name + length - end, ending) == 0) length -= end;
    size_t size = strlen(together) + length + 2;
    char *made = malloc(size);
    if (made) snprintf(made, size, "%s/%.*s", together, (int)length, name);
    return made;
}

/* What was asked for, where that is a file or a folder; of several in a folder the file. */
static char *call_of(const char *path, const char *name, const char *own_name) {
    char *asked = realpath(name, NULL), *file = strcmp(name, own_name) == 0 ? NULL : realpath(path, NULL);
    if (!asked || !file) {
        free(file);
        return asked ? asked : strdup(own_name);
    }
    free(asked);
    return file;
}

static jf_status add_file(explorer *e, const char *path, const char *name, int several,
                          const jf_load_options *device) {
    shown_model *more = realloc(e->models, ((size_t)e->count + 1) * sizeof *more);
    if (!more) return no_memory();
    e->models = more;
    shown_model *s = &e->models[e->count++];
    *s = (shown_model){.name = several ? name_of_file(path, name) : strdup(name)};
    if (s->name) s->call = call_of(path, name, s->name);
    if (!s->name || !s->call) return no_memory();
    jf_status status = jf_model_load(&s->m, e->ctx, path, device);
    s->form.size = sizeof s->form;
    if (status == JF_OK) status = jf_model_image_form(&s->form, s->m);
    if (status != JF_OK) return status;
    s->dim_x = jf_model_dim_x(s->m);
    s->dim_y = jf_model_dim_y(s->m);
    s->classes = jf_model_classes(s->m);
    s->class_column = cli_has_class_column(s->m);
    find_cascade(e, s, device);
    s->verdict = verdict_create(e->ctx, s->m, s->cascade);
    if (!s->verdict) return no_memory();
    status = find_ranges(s);
    return status == JF_OK ? find_data(e, s) : status;
}

jf_status explorer_add(explorer *e, const char *name, const jf_load_options *device) {
    char *file = NULL, *next = NULL;
    jf_status status = jf_model_find(&file, e->ctx, name, 0);
    if (status == JF_OK) status = jf_model_find(&next, e->ctx, name, 1);
    int several = next != NULL;
    for (int i = 1; status == JF_OK && file; i++) {
        status = add_file(e, file, name, several, device);
        free(file);
        file = next;
        next = NULL;
        if (status == JF_OK && file) status = jf_model_find(&next, e->ctx, name, i + 1);
    }
    free(file);
    free(next);
    return status;
}

/* ---- cascades ---- */

/* The model that enlarges images of h x w, -1: none. */
static int step_from(const explorer *e, int h, int w) {
    for (int i = 0; i < e->count; i++)
        if (strcmp(e->models[i].form.task, "superres") == 0 && e->models[i].form.input_h == h &&
            e->models[i].form.input_w == w)
            return i;
    return -1;
}

int explorer_cascade(const explorer *e, int steps[JF_CASCADE_MOST]) {
    int best = 0;
    for (int first = 0; first < e->count; first++) {
        int found[JF_CASCADE_MOST], count = 0;
        if (strcmp(e->models[first].form.task, "superres") != 0) continue;
        for (int i = first; i >= 0 && count < JF_CASCADE_MOST; count++) {
            found[count] = i;
            i = step_from(e, e->models[i].form.h, e->models[i].form.w);
        }
        if (count <= best) continue;
        best = count;
        memcpy(steps, found, sizeof found);
    }
    return best > 1 ? best : 0;
}
