/* What there is to see: every model with its names, sizes, classes and ranges; and the rows of its data. */
#include "answers.h"
#include <stdlib.h>

static void add_names(const shown_model *s, buffer *out, int first, int count, char letter) {
    buffer_add(out, "[");
    for (int i = 0; i < count && s->form.h == 0; i++) {
        const char *name = jf_model_column_name(s->m, first + i);
        if (i > 0) buffer_add(out, ",");
        if (*name)
            buffer_add_text(out, name);
        else
            buffer_add(out, "\"%c%d\"", letter, i);
    }
    buffer_add(out, "]");
}

static void add_classes(const shown_model *s, buffer *out) {
    buffer_add(out, ",\"classes\":[");
    for (int k = 0; k < s->classes; k++) {
        buffer_add(out, "%s{\"label\":", k ? "," : "");
        buffer_add_number(out, jf_model_label(s->m, k));
        buffer_add(out, ",\"name\":");
        buffer_add_text(out, jf_model_class_name(s->m, k));
        buffer_add(out, "}");
    }
    buffer_add(out, "]");
}

/* Elements of y that the page knows: of a class its label. */
static int dim_of_y(const shown_model *s) {
    return s->class_column ? 1 : s->dim_y;
}

static void add_ranges(const shown_model *s, buffer *out) {
    if (!s->has_range) {
        buffer_add(out, ",\"y_range\":null");
        return;
    }
    buffer_add(out, ",\"y_range\":[");
    for (int i = 0; i < dim_of_y(s); i++) {
        if (i > 0) buffer_add(out, ",");
        buffer_add_numbers(out, (double[]){s->lo[i], s->hi[i]}, 2);
    }
    buffer_add(out, "]");
}

static void add_form(const jf_image_form *f, buffer *out) {
    if (f->h == 0) {
        buffer_add(out, ",\"image\":null");
        return;
    }
    buffer_add(out,
               ",\"image\":{\"task\":\"%s\",\"h\":%d,\"w\":%d,\"channels\":%d,\"input_h\":%d,\"input_w\":%d,"
               "\"input_channels\":%d,\"masked\":%s}",
               f->task, f->h, f->w, f->channels, f->input_h, f->input_w, f->input_channels,
               f->masked ? "true" : "false");
}

/* What makes its images larger, and whether y has a plane for each class, so that no number lies between two
 * of them. */
static void add_cascade(const shown_model *s, buffer *out) {
    int planes = s->class_column || (s->classes > 1 && s->form.y_channels == s->classes);
    buffer_add(out, ",\"planes\":%s,\"then\":{\"name\":", planes ? "true" : "false");
    buffer_add_text(out, jf_model_then(s->m));
    buffer_add(out, ",\"h\":%d,\"w\":%d,\"why\":", s->large_h, s->large_w);
    buffer_add_text(out, s->no_cascade);
    buffer_add(out, "}");
}

static jf_status add_model(const shown_model *s, buffer *out) {
    char *info;
    jf_status status = jf_model_info(&info, s->m);
    if (status != JF_OK) return status;
    buffer_add(out, "{\"name\":");
    buffer_add_text(out, s->name);
    buffer_add(out, ",\"call\":");
    buffer_add_text(out, s->call);
    buffer_add(out, ",\"info\":");
    buffer_add_text(out, info);
    jf_text_free(info);
    buffer_add(out, ",\"objective\":\"%s\",\"data_set\":", jf_model_objective(s->m));
    buffer_add_text(out, jf_model_data_set(s->m));
    buffer_add(out, ",\"dim_x\":%d,\"dim_y\":%d,\"x_names\":", s->dim_x, dim_of_y(s));
    add_names(s, out, 0, s->dim_x, 'x');
    buffer_add(out, ",\"y_names\":");
    add_names(s, out, s->dim_x, dim_of_y(s), 'y');
    add_classes(s, out);
    add_ranges(s, out);
    add_form(&s->form, out);
    add_cascade(s, out);
    buffer_add(out, ",\"data_rows\":%zu,\"no_data\":", s->data_rows);
    buffer_add_text(out, s->no_data);
    buffer_add(out, "}");
    return JF_OK;
}

static jf_status give_models(explorer *e, ask *asked, buffer *out) {
    int steps[JF_CASCADE_MOST], count = explorer_cascade(e, steps);
    jf_status status = JF_OK;
    (void)asked;
    buffer_add(out, "{\"version\":\"%s\",\"watch\":%s,\"models\":[", jf_version(),
               e->watch ? "true" : "false");
    for (int i = 0; i < e->count && status == JF_OK; i++) {
        if (i > 0) buffer_add(out, ",");
        status = add_model(&e->models[i], out);
    }
    buffer_add(out, "],\"chain\":[");
    for (int i = 0; i < count; i++) buffer_add(out, "%s%d", i ? "," : "", steps[i]);
    buffer_add(out, "]}\n");
    return status;
}

const answer answer_models = {"models", give_models};

static void add_labels(const shown_model *s, buffer *out) {
    buffer_add(out, "[");
    for (size_t row = 0; row < s->data_rows; row++) {
        if (row > 0) buffer_add(out, ",");
        buffer_add_number(out, jf_model_label_of_y(s->m, s->data_y + row * (size_t)s->dim_y));
    }
    buffer_add(out, "]");
}

static jf_status give_data(explorer *e, ask *asked, buffer *out) {
    const shown_model *s = answers_model(e, asked);
    if (asked->refused) return JF_OK;
    buffer_add(out, "{\"rows\":%zu,\"x\":", s->data_rows);
    buffer_add_numbers(out, s->data_x, (size_t)s->data_rows * (size_t)s->dim_x);
    buffer_add(out, ",\"y\":");
    if (s->class_column)
        add_labels(s, out);
    else
        buffer_add_numbers(out, s->data_y, (size_t)s->data_rows * (size_t)s->dim_y);
    buffer_add(out, "}\n");
    return JF_OK;
}

const answer answer_data = {"data", give_data};
