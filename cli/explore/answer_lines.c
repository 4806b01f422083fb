/* Answers along lines in z and in y, as jointflow interpolate makes them: frames of an animation. */
#include "conditions_asked.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 600000, MOST_STEPS = 60 };

/* Frames: step after step, of each all lines, whereas lines come line after line. */
static void add_frames(buffer *out, const char *name, const double *values, const jf_lines *l, size_t dim) {
    buffer_add(out, ",\"%s\":[", name);
    for (size_t t = 0; t < (size_t)l->steps; t++)
        for (size_t r = 0; r < (size_t)l->rows; r++)
            for (size_t i = 0; i < dim; i++) {
                if (t + r + i > 0) buffer_add_bytes(out, ",", 1);
                buffer_add_number(out, values[(r * (size_t)l->steps + t) * dim + i]);
            }
    buffer_add(out, "]");
}

static jf_status add_images(const shown_model *s, const jf_lines *l, uint64_t seed, buffer *out) {
    jf_images images;
    jf_cascade_options options = {
        .size = sizeof(jf_cascade_options), .seed = seed, .of_samples = 1, .together = l->steps};
    jf_status status = shown_images(s, l->rows * l->steps, l->x, l->y, &options, &images);
    if (status != JF_OK) return status;
    buffer_add(out, ",");
    answers_add_images(out, "images", &images);
    jf_images_free(&images);
    return JF_OK;
}

static jf_status add_lines(const shown_model *s, const jf_lines *l, uint64_t seed, buffer *out) {
    jf_status status = JF_OK;
    buffer_add(out, "{\"rows\":%zu,\"steps\":%zu", l->rows, l->steps);
    if (s->form.h > 0) {
        status = add_images(s, l, seed, out);
    } else {
        add_frames(out, "x", l->x, l, (size_t)s->dim_x);
        add_frames(out, "z", l->z, l, (size_t)s->dim_x);
        buffer_add(out, ",\"y\":[");
        for (size_t t = 0; t < (size_t)l->steps; t++) {
            if (t > 0) buffer_add(out, ",");
            buffer_add_numbers(out, l->y + t * (size_t)s->dim_y, (size_t)s->dim_y);
        }
        buffer_add(out, "]");
    }
    buffer_add(out, "}\n");
    return status;
}

static jf_status give_lines(explorer *e, ask *asked, buffer *out) {
    shown_model *s = answers_model(e, asked);
    double *from = NULL, *to = NULL;
    if (asked->refused) return JF_OK;
    int along_y = strcmp(ask_text(asked, "along"), "y") == 0;
    int steps = (int)ask_whole(asked, "steps", 2, MOST_STEPS, 24);
    long most = MOST_NUMBERS / shown_numbers(s) / steps;
    int lines = (int)ask_whole(asked, "lines", 1, most > 1 ? most : 1, s->form.h > 0 ? 5 : 300);
    jf_use_options use = {.size = sizeof(jf_use_options),
                          .seed = ask_seed(asked, "seed"),
                          .straight = ask_flag(asked, "straight")};
    if (!along_y && strcmp(ask_text(asked, "along"), "z") != 0) ask_refuse(asked, "along: expected y or z");
    if (along_y && (s->dim_y == 0 || s->form.input_h > 0))
        ask_refuse(asked, "along: this model has no y to go along");
    if (asked->refused) return JF_OK;
    jf_lines made = {0};
    jf_status status = asked_condition(s, asked, along_y ? "from" : "y", &from, NULL);
    if (status == JF_OK && !asked->refused && along_y) status = asked_condition(s, asked, "to", &to, NULL);
    if (status == JF_OK && !asked->refused) {
        status = along_y ? jf_lines_along_y(&made, s->m, lines, steps, from, to, &use)
                         : jf_lines_along_z(&made, s->m, lines, steps, 1, from, &use);
        if (status == JF_OK) status = add_lines(s, &made, use.seed, out);
        jf_lines_free(&made);
    }
    free(from);
    free(to);
    return status;
}

const answer answer_lines = {"lines", give_lines};
