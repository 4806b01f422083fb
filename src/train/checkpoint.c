#include "train/checkpoint.h"
#include "base/file.h"
#include "base/memory.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const field_names[] = {
#define X(name) #name,
    TRAIN_STATE_FIELDS(X)
#undef X
};
#define FIELD_COUNT (sizeof field_names / sizeof *field_names)

/* Flat buffers of a run and the prefix of their tensors. */
typedef struct section {
    const char *prefix;
    const real *flat;
} section;
#define SECTIONS 4

static void list_sections(section out[SECTIONS], const model *m, const optimiser *o, const real *best) {
    out[0] = (section){"", m->params};
    out[1] = (section){"best.", best};
    out[2] = (section){"adam.first.", o->first};
    out[3] = (section){"adam.second.", o->second};
}

jf_status checkpoint_save(const char *path, const model *m, const optimiser *o, const real *best,
                          const train_state *s) {
    section sections[SECTIONS];
    tensor *parts[SECTIONS] = {0}, *all = NULL;
    void *storage[SECTIONS] = {0};
    text recipe_text = {0};
    jf_status status;
    size_t count = (size_t)m->flow->params.count;
    list_sections(sections, m, o, best);
    JF_TRY_DONE(MEM_NEW(m->ctx, &all, SECTIONS * count + 1));
    for (int i = 0; i < SECTIONS; i++) {
        JF_TRY_DONE(model_tensors(m, sections[i].prefix, sections[i].flat, &parts[i], &storage[i]));
        memcpy(all + (size_t)i * count, parts[i], count * sizeof *all);
    }
    all[SECTIONS * count] = (tensor){"state", TENSOR_F64, 1, {FIELD_COUNT}, s};
    recipe_write(m->recipe, &recipe_text, 0);
    JF_TRY_DONE(text_check(m->ctx, &recipe_text));
    char seed[32];
    snprintf(seed, sizeof seed, "%" PRIu64, m->seed);
    tensor_note notes[] = {{"jointflow.checkpoint", "1"},
                           {"recipe", recipe_text.chars},
                           {"seed", seed},
                           {"device", m->d->kind->name}};
    JF_TRY_DONE(tensors_write(m->ctx, path, all, SECTIONS * count + 1, notes, sizeof notes / sizeof *notes));
done:
    for (int i = 0; i < SECTIONS; i++) model_tensors_free(m, parts[i], storage[i]);
    free(all);
    text_free(&recipe_text);
    return status;
}

/* The first line in which two recipes differ, for the message. */
static void first_difference(const char *a, const char *b, char *out, size_t size) {
    while (*a && *b) {
        size_t la = strcspn(a, "\n"), lb = strcspn(b, "\n");
        if (la != lb || memcmp(a, b, la) != 0) {
            snprintf(out, size, "\"%.*s\" there, \"%.*s\" now", (int)la, a, (int)lb, b);
            return;
        }
        a += la + (a[la] != 0);
        b += lb + (b[lb] != 0);
    }
    snprintf(out, size, "one is longer than the other");
}

static jf_status check_notes(const char *path, const tensor_file *file, const model *m) {
    jf_context *ctx = m->ctx;
    const char *recipe_note = tensors_note(file, "recipe"), *seed = tensors_note(file, "seed");
    const char *device_note = tensors_note(file, "device");
    if (!tensors_note(file, "jointflow.checkpoint") || !recipe_note || !seed || !device_note)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: not a jointflow checkpoint", path);
    if (strtoull(seed, NULL, 10) != m->seed)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: the run to resume has seed %s, now it is %" PRIu64, path,
                       seed, m->seed);
    if (strcmp(device_note, m->d->kind->name) != 0)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: the run to resume was on device %s, now it is %s", path,
                       device_note, m->d->kind->name);
    text now = {0};
    recipe_write(m->recipe, &now, 0);
    jf_status status = text_check(ctx, &now);
    if (status == JF_OK && strcmp(now.chars, recipe_note) != 0) {
        char difference[400];
        first_difference(recipe_note, now.chars, difference, sizeof difference);
        status =
            jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: the run to resume has another recipe: %s", path, difference);
    }
    text_free(&now);
    return status;
}

jf_status checkpoint_load(const char *path, model *m, optimiser *o, real *best, train_state *s) {
    tensor_file *file = NULL;
    section sections[SECTIONS];
    jf_status status;
    list_sections(sections, m, o, best);
    JF_TRY_DONE(tensors_read(m->ctx, &file, path));
    JF_TRY_DONE(check_notes(path, file, m));
    const tensor *state = tensors_find(file, "state");
    if (!state || state->type != TENSOR_F64 || state->shape[0] != FIELD_COUNT)
        JF_TRY_DONE(jf_fail(m->ctx, JF_ERROR_FORMAT, "%s: tensor \"state\" is missing or not of %zu numbers",
                            path, FIELD_COUNT));
    for (int i = 0; i < SECTIONS; i++)
        JF_TRY_DONE(model_read_tensors(m, file, path, sections[i].prefix, (real *)sections[i].flat));
    memcpy(s, state->data, sizeof *s);
    o->step = (long)s->step;
done:
    tensors_free(file);
    return status;
}

static const char history_header[] =
    "phase,epoch,step,loss,z,y,logdet,y_error,validation,rate,ks_median,ks_max,drift,seconds\n";

jf_status history_begin(jf_context *ctx, const char *path, long rows) {
    if (rows == 0) return file_write(ctx, path, history_header, sizeof history_header - 1);
    char *bytes;
    size_t size, end = 0;
    JF_TRY(file_read(ctx, &bytes, &size, path, (size_t)1 << 28));
    for (long line = 0; line <= rows && end < size; line++) end += strcspn(bytes + end, "\n") + 1;
    jf_status status = file_write(ctx, path, bytes, end < size ? end : size);
    free(bytes);
    return status;
}

static void add_number(text *t, double value) {
    if (value == value)
        text_add(t, ",%.9g", value);
    else
        text_add(t, ",");
}

jf_status history_add(jf_context *ctx, const char *path, const history_row *row) {
    text line = {0};
    text_add(&line, "%s,%d,%ld", row->phase, row->epoch, row->step);
    const double numbers[] = {row->terms.total,   row->terms.z,    row->terms.y, row->terms.logdet,
                              row->terms.y_error, row->validation, row->rate,    row->ks_median,
                              row->ks_max,        row->drift,      row->seconds};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) add_number(&line, numbers[i]);
    text_add(&line, "\n");
    jf_status status = text_check(ctx, &line);
    FILE *file = status == JF_OK ? fopen(path, "a") : NULL;
    if (status == JF_OK && (!file || fputs(line.chars, file) < 0))
        status = jf_fail(ctx, JF_ERROR_IO, "%s: cannot be appended to", path);
    if (file && fclose(file) != 0 && status == JF_OK)
        status = jf_fail(ctx, JF_ERROR_IO, "%s: cannot be written", path);
    text_free(&line);
    return status;
}
