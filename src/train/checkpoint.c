#include "train/checkpoint.h"
#include "base/finite.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/use.h"
#include "train/match.h"
#include "train/phases.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION     4 /* of what is stored, and of what it means: the only one that is read */
#define FIELD_COUNT (sizeof(train_state) / sizeof(double))

/* Flat buffers of a run and the prefix of their tensors; those of the epoch only in the middle of one. */
typedef struct section {
    const char *prefix;
    real *flat;
} section;
enum { SECTIONS = 9 };
_Static_assert(sizeof "epoch.adam.second." <= MODEL_MAX_PREFIX,
               "the longest prefix fits the names of tensors");

static int list_sections(section out[SECTIONS], const model *m, const optimiser *o, const real *best,
                         const epoch_start *start, const train_state *s) {
    const section now[] = {{"", m->params},
                           {"best.", (real *)best},
                           {"adam.first.", o->first},
                           {"adam.second.", o->second},
                           {"average.", o->average}};
    const section then[] = {{"epoch.", start->params},
                            {"epoch.adam.first.", start->first},
                            {"epoch.adam.second.", start->second},
                            {"epoch.average.", start->average}};
    int count = 0;
    for (size_t i = 0; i < sizeof now / sizeof *now; i++)
        if (now[i].flat) out[count++] = now[i];
    for (size_t i = 0; s->batch > 0 && i < sizeof then / sizeof *then; i++)
        if (then[i].flat) out[count++] = then[i];
    return count;
}

jf_status checkpoint_save(const char *path, const model *m, const optimiser *o, const real *best,
                          const epoch_start *start, const train_state *s, const checkpoint_data *data) {
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
                           {"device", m->d->kind->name},
                           {"precision", precision_names[train_precision(m)]},
                           {"data", data->identity}};
    JF_TRY_DONE(tensors_write_summed(m->ctx, path, all, total, notes, sizeof notes / sizeof *notes,
                                     TENSORS_FILE_SUM, file_replace));
done:
    for (int i = 0; i < SECTIONS; i++) model_tensors_free(m, parts[i], storage[i]);
    free(all);
    text_free(&recipe_text);
    return status;
}

/* Nothing else of the file is believed before this: a version that damage has changed is not one. */
static jf_status check_version(jf_context *ctx, const char *path, const tensor_file *file, int *unusable) {
    const char *note = tensors_note(file, "jointflow.checkpoint");
    int summed = tensors_note(file, TENSORS_FILE_SUM) != NULL;
    long long version;
    if (summed) JF_TRY(tensors_check_file(ctx, file, path));
    if (!note || !number_parse_int(note, &version) || version < 1)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: not a jointflow checkpoint", path);
    if (version == VERSION) return summed ? JF_OK : tensors_check_file(ctx, file, path);
    *unusable = 0; /* the checkpoint before it is of the same version */
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: a checkpoint of version %s, expected %d: %s", path, note,
                   VERSION,
                   version > VERSION ? "a later jointflow wrote it"
                                     : "an earlier jointflow wrote it; train again with this version");
}

jf_status checkpoint_check_recipe(const char *path, const recipe *r, int *unusable) {
    tensor_file *file = NULL;
    const char *note;
    jf_status status;
    *unusable = 1;
    JF_TRY_DONE(tensors_read(recipe_context(r), &file, path));
    JF_TRY_DONE(check_version(recipe_context(r), path, file, unusable));
    *unusable = 0;
    note = tensors_note(file, "recipe");
    if (note) JF_TRY_DONE(match_recipe(path, note, r));
done:
    tensors_free(file);
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

/* One from a device of doubles may hold what this one cannot. */
static jf_status check_fits(const char *path, const tensor *t, const model *m) {
    if (t->type != TENSOR_F64 || m->d->kind->real_size == sizeof(double)) return JF_OK;
    size_t count = tensor_elements(t), at = count_within(t->data, count, FLT_MAX);
    if (at == count) return JF_OK;
    return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                   "%s: tensor \"%s\": element %zu is %g, which device %s cannot hold: go on with the one "
                   "that it is from",
                   path, t->name, at, ((const double *)t->data)[at], m->d->kind->name);
}

/* A run never saves such weights: a step that would make them is not taken. */
static jf_status check_finite(const char *path, const tensor_file *file, const model *m) {
    for (size_t i = 0; i < tensors_count(file); i++) {
        const tensor *t = tensors_at(file, i);
        size_t count = tensor_elements(t), bad = 0;
        if (strcmp(t->name, "state") == 0 || strcmp(t->name, "epoch.state") == 0) continue;
        if (t->type == TENSOR_F32)
            while (bad < count && isfinite(((const float *)t->data)[bad])) bad++;
        else if (t->type == TENSOR_F64)
            while (bad < count && isfinite(((const double *)t->data)[bad])) bad++;
        else
            continue;
        if (bad < count)
            return jf_fail(m->ctx, JF_ERROR_FORMAT,
                           "%s: tensor \"%s\": element %zu is not finite, expected finite numbers", path,
                           t->name, bad);
        JF_TRY(check_fits(path, t, m));
    }
    return JF_OK;
}

static jf_status read_sections(const char *path, const tensor_file *file, model *m, optimiser *o, real *best,
                               epoch_start *start, train_state *s) {
    section sections[SECTIONS];
    JF_TRY(read_state(path, file, "state", m, s));
    if (s->batch > 0) JF_TRY(read_state(path, file, "epoch.state", m, &start->state));
    JF_TRY(check_finite(path, file, m));
    int section_count = list_sections(sections, m, o, best, start, s);
    for (int i = 0; i < section_count; i++)
        JF_TRY(model_read_tensors(m, file, path, sections[i].prefix, sections[i].flat));
    return JF_OK;
}

jf_status checkpoint_load(const char *path, model *m, optimiser *o, real *best, epoch_start *start,
                          train_state *s, checkpoint_data *data, int *unusable) {
    tensor_file *file = NULL;
    jf_status status;
    *unusable = 1;
    JF_TRY_DONE(tensors_read(m->ctx, &file, path));
    JF_TRY_DONE(check_version(m->ctx, path, file, unusable));
    JF_TRY_DONE(match_run(path, file, m, data));
    JF_TRY_DONE(read_sections(path, file, m, o, best, start, s));
done:
    if (status == JF_ERROR_ARGUMENT || status == JF_ERROR_MEMORY || status == JF_ERROR_DEVICE) *unusable = 0;
    tensors_free(file);
    return status;
}
