#include "answers.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A new answer is a function and a line in both lists. */
extern const answer answer_models, answer_data, answer_sample, answer_density, answer_decode, answer_encode,
    answer_lines, answer_superres, answer_validation, answer_judge, answer_watch;

const answer *const answers[] = {
    &answer_models, &answer_data,     &answer_sample,     &answer_density, &answer_decode, &answer_encode,
    &answer_lines,  &answer_superres, &answer_validation, &answer_judge,   &answer_watch,  NULL,
};

static const answer *find_answer(const char *name) {
    for (int i = 0; answers[i]; i++)
        if (strcmp(answers[i]->name, name) == 0) return answers[i];
    return NULL;
}

/* What the asker did wrong, and what went wrong here. */
static int status_of_http(jf_status status) {
    return status == JF_ERROR_MEMORY || status == JF_ERROR_DEVICE ? 500 : 422;
}

int answers_give(explorer *e, const char *name, const char *body, size_t size, buffer *out,
                 char why[ANSWER_WHY]) {
    const answer *found = find_answer(name);
    if (!found) {
        snprintf(why, ANSWER_WHY, "there is no such answer");
        return 404;
    }
    ask asked;
    int http = 200;
    ask_read(&asked, body ? body : "", size);
    jf_status status = asked.refused ? JF_OK : found->give(e, &asked, out);
    if (asked.refused) {
        snprintf(why, ANSWER_WHY, "%s", asked.why);
        http = 400;
    } else if (status != JF_OK) {
        snprintf(why, ANSWER_WHY, "%s", jf_context_error(e->ctx));
        http = status_of_http(status);
    }
    ask_free(&asked);
    return http;
}

shown_model *answers_model(explorer *e, ask *asked) {
    if (e->count == 0) {
        ask_refuse(asked, "there is no model to ask yet");
        return NULL;
    }
    return &e->models[ask_whole(asked, "model", 0, e->count - 1, 0)];
}

double *answers_array(ask *asked, size_t count) {
    double *made = calloc(count + 1, sizeof *made);
    if (!made) ask_refuse(asked, "not enough memory for %zu numbers", count);
    return made;
}

void answers_add_bytes(buffer *out, const double *values, size_t count, double lo, double hi) {
    unsigned char *bytes = malloc(count + 1);
    for (size_t i = 0; bytes && i < count; i++)
        bytes[i] = (unsigned char)lround(255 * fmin(fmax((values[i] - lo) / (hi - lo), 0), 1));
    if (bytes)
        buffer_add_base64(out, bytes, count);
    else
        out->failed = 1;
    free(bytes);
}

void answers_add_images(buffer *out, const char *name, const jf_images *images) {
    size_t count = (size_t)images->count * (size_t)images->h * (size_t)images->w * (size_t)images->channels;
    buffer_add(out, "\"%s\":{\"count\":%zu,\"h\":%d,\"w\":%d,\"channels\":%d,\"bytes\":", name, images->count,
               images->h, images->w, images->channels);
    answers_add_bytes(out, images->values, count, 0, 1);
    buffer_add(out, "}");
}
