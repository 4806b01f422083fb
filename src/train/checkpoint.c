#include "train/checkpoint.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "train/phases.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the file: what is stored, and what it means. */
#define VERSION     2
#define UNSUMMED    1 /* the version whose files have no checksum */
#define FIELD_COUNT (sizeof(train_state) / sizeof(double))

/* Flat buffers of a run and the prefix of their tensors; the last three only in the middle of an epoch. */
typedef struct section {
    const char *prefix;
    real *flat;
} section;
enum { SECTIONS = 7, SECTIONS_BETWEEN_EPOCHS = 4 };
_Static_assert(sizeof "epoch.adam.second." <= MODEL_MAX_PREFIX,
               "the longest prefix fits the names of tensors");

static int list_sections(section out[SECTIONS], const model *m, const optimiser *o, const real *best,
                         const epoch_start *start, const train_state *s) {
    const section all[SECTIONS] = {{"", m->params},
                                   {"best.", (real *)best},
                                   {"adam.first.", o->first},
                                   {"adam.second.", o->second},
                                   {"epoch.", start->params},
                                   {"epoch.adam.first.", start->first},
                                   {"epoch.adam.second.", start->second}};
    memcpy(out, all, sizeof all);
    return s->batch > 0 ? SECTIONS : SECTIONS_BETWEEN_EPOCHS;
}

jf_status checkpoint_save(const char *path, const model *m, const optimiser *o, const real *best,
                          const epoch_start *start, const train_state *s) {
    section sections[SECTIONS];
    tensor *parts[SECTIONS] = {0}, *all = NULL;
    void *storage[SECTIONS] = {0};
    text recipe_text = {0};
    jf_status status;
    int section_count = list_sections(sections, m, o, best, start, s);
    size_t count = (size_t)m->parameters.count, total = (size_t)section_count * count;
    JF_TRY_DONE(MEM_NEW(m->ctx, &all, total + 2));
    for (int i = 0; i < section_count; i++) {
        JF_TRY_DONE(model_tensors(m, sections[i].prefix, sections[i].flat, &parts[i], &storage[i]));
        memcpy(all + (size_t)i * count, parts[i], count * sizeof *all);
    }
    all[total++] = (tensor){"state", TENSOR_F64, 1, {FIELD_COUNT}, s};
    if (s->batch > 0) all[total++] = (tensor){"epoch.state", TENSOR_F64, 1, {FIELD_COUNT}, &start->state};
    recipe_write(m->recipe, &recipe_text, 0);
    JF_TRY_DONE(text_check(m->ctx, &recipe_text));
    char version[16], seed[32];
    snprintf(version, sizeof version, "%d", VERSION);
    snprintf(seed, sizeof seed, "%" PRIu64, m->seed);
    tensor_note notes[] = {{"jointflow.checkpoint", version},
                           {"recipe", recipe_text.chars},
                           {"seed", seed},
                           {"device", m->d->kind->name}};
    JF_TRY_DONE(tensors_write_summed(m->ctx, path, all, total, notes, sizeof notes / sizeof *notes,
                                     TENSORS_FILE_SUM));
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

/* Nothing else of the file is believed before this. */
static jf_status check_version(const char *path, const tensor_file *file, jf_context *ctx) {
    const char *note = tensors_note(file, "jointflow.checkpoint");
    long long version;
    if (!note || !number_parse_int(note, &version) || version < 1)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: not a jointflow checkpoint", path);
    if (version > VERSION)
        return jf_fail(ctx, JF_ERROR_FORMAT,
                       "%s: a checkpoint of version %s, expected at most %d: a later "
                       "jointflow wrote it",
                       path, note, VERSION);
    if (version > UNSUMMED || tensors_note(file, TENSORS_FILE_SUM))
        return tensors_check_file(ctx, file, path);
    jf_log(ctx, "%s: an earlier version wrote it, without a checksum: damage would go unseen", path);
    return JF_OK;
}

static jf_status check_notes(const char *path, const tensor_file *file, const model *m) {
    jf_context *ctx = m->ctx;
    const char *recipe_note = tensors_note(file, "recipe"), *seed = tensors_note(file, "seed");
    const char *device_note = tensors_note(file, "device");
    JF_TRY(check_version(path, file, ctx));
    if (!recipe_note || !seed || !device_note)
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

/* A state that no run has would lead outside of the tables of phases and batches. */
static jf_status read_state(const char *path, const tensor_file *file, const char *name, const model *m,
                            train_state *s) {
    const tensor *t = tensors_find(file, name);
    if (!t || t->type != TENSOR_F64 || tensor_elements(t) != FIELD_COUNT)
        return jf_fail(m->ctx, JF_ERROR_FORMAT, "%s: tensor \"%s\" is missing or not of %zu numbers", path,
                       name, FIELD_COUNT);
    memcpy(s, t->data, sizeof *s);
    const struct {
        const char *field;
        double found, lo, hi;
    } checks[] = {{"phase", s->phase, 0, phase_count}, {"epoch", s->epoch, 1, 1e9},
                  {"batch", s->batch, 0, 1e9},         {"total_epoch", s->total_epoch, 0, 1e9},
                  {"step", s->step, 0, 1e15},          {"history_rows", s->history_rows, 0, 1e9}};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (!(checks[i].found >= checks[i].lo && checks[i].found <= checks[i].hi))
            return jf_fail(m->ctx, JF_ERROR_FORMAT, "%s: tensor \"%s\": %s is %g, expected %g to %g", path,
                           name, checks[i].field, checks[i].found, checks[i].lo, checks[i].hi);
    return JF_OK;
}

jf_status checkpoint_load(const char *path, model *m, optimiser *o, real *best, epoch_start *start,
                          train_state *s) {
    tensor_file *file = NULL;
    section sections[SECTIONS];
    jf_status status;
    JF_TRY_DONE(tensors_read(m->ctx, &file, path));
    JF_TRY_DONE(check_notes(path, file, m));
    JF_TRY_DONE(read_state(path, file, "state", m, s));
    if (s->batch > 0) JF_TRY_DONE(read_state(path, file, "epoch.state", m, &start->state));
    int section_count = list_sections(sections, m, o, best, start, s);
    for (int i = 0; i < section_count; i++)
        JF_TRY_DONE(model_read_tensors(m, file, path, sections[i].prefix, sections[i].flat));
done:
    tensors_free(file);
    return status;
}

#define X(id, name, role, about) "," name
static const char history_header[] =
    "phase,epoch,step" LOSS_TERMS(X) ",validation,rate,ks_median,ks_max,drift,seconds\n";
#undef X

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
    for (int i = 0; i < TERM_COUNT; i++) add_number(&line, row->terms.value[i]);
    const double numbers[] = {row->validation, row->rate,  row->ks_median,
                              row->ks_max,     row->drift, row->seconds};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) add_number(&line, numbers[i]);
    text_add(&line, "\n");
    jf_status status = text_check(ctx, &line);
    FILE *file = status == JF_OK ? fopen(path, "ae") : NULL;
    if (status == JF_OK && (!file || fputs(line.chars, file) < 0))
        status = jf_fail(ctx, JF_ERROR_IO, "%s: cannot be appended to: %s", path, strerror(errno));
    if (file && fclose(file) != 0 && status == JF_OK)
        status = jf_fail(ctx, JF_ERROR_IO, "%s: cannot be written: %s", path, strerror(errno));
    text_free(&line);
    return status;
}
