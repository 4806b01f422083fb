/* A run from its recipe to its model file. */
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "compute/place.h"
#include "data/named.h"
#include "model/use.h"
#include "train/checkpoint_store.h"
#include "train/data_parallel.h"
#include "train/loose.h"
#include "train/run_folder.h"
#include "train/train_memory.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- units ---- */

/* Of objectives that learn without data: there is nothing to standardise. */
static jf_status units_without_data(jf_context *ctx, model_units *out, int dim) {
    *out = (model_units){.dim_x = dim};
    jf_status status = MEM_NEW(ctx, &out->mean, (size_t)dim);
    if (status == JF_OK) status = MEM_NEW(ctx, &out->deviation, (size_t)dim);
    if (status != JF_OK) units_free(out);
    for (int i = 0; status == JF_OK && i < dim; i++) out->deviation[i] = 1;
    return status;
}

jf_status train_units(jf_context *ctx, model_units *out, const dataset *data, const recipe *r) {
    const objective_kind *kind = loss_kind(r);
    if (!kind->from_data) return units_without_data(ctx, out, kind->dim_x);
    if (!kind->has_condition && data->image.h > 0)
        return recipe_fail(r, "loss.objective",
                           "%s has no condition; images are learned with one: expected joint", kind->name);
    if (kind->has_condition && data->dim_y == 0)
        return jf_fail(ctx, JF_ERROR_RECIPE,
                       "%s: data set \"%s\" has no condition y: set loss.objective = plain", recipe_name(r),
                       data->kind->name);
    model_units u = {.dim_x = data->dim_x,
                     .dim_y = kind->has_condition ? data->dim_y : 0,
                     .image = data->image,
                     .mean = data->mean,
                     .deviation = data->deviation,
                     .support = data->support,
                     .names = data->keeps_names ? (char **)data->names : NULL}; /* copied below */
    u.classes = u.dim_y ? data->classes : 0;
    for (int i = 0; i < u.classes; i++) {
        u.label[i] = data->label[i];
        snprintf(u.class_name[i], MAX_CLASS_NAME, "%s", data->class_name[i] ? data->class_name[i] : "");
    }
    JF_TRY(units_copy(ctx, out, &u));
    /* The model lives on data that the noise has shrunk by 1 - alpha: users' values go in and come out by
     * that. */
    for (int i = 0; i < u.dim_x + u.dim_y; i++) out->deviation[i] /= 1 - recipe_real(r, "train.noise");
    return JF_OK;
}

/* ---- opening ---- */

jf_status train_open(jf_context *ctx, dataset **data, model **m, const recipe *r,
                     const jf_train_options *options) {
    model_units units = {0};
    *data = NULL;
    *m = NULL;
    jf_status status;
    JF_TRY(recipe_check(r));
    if (loss_kind(r)->from_data) JF_TRY(dataset_open(ctx, data, r));
    JF_TRY_DONE(train_units(ctx, &units, *data, r));
    JF_TRY_DONE(model_create(ctx, m, r, &units, options->device, options->threads,
                             &(model_origin){.seed = options->seed}));
    JF_TRY_DONE(train_check_precision(*m));
done:
    units_free(&units);
    if (status != JF_OK) {
        dataset_free(*data);
        model_free(*m);
        *data = NULL;
        *m = NULL;
    }
    return status;
}

/* What is about to be trained, and on what: a line for people. */
static void tell(const model *m) {
    char device_words[DEVICE_MAX_WORDS];
    text layers = {0};
    device_describe_at(m->d, train_products(m), device_words);
    flow_describe(m->flow, &layers);
    jf_log(m->ctx, "%s, %zu parameters on %s", layers.chars ? layers.chars : "", m->parameters.total,
           device_words);
    text_free(&layers);
}

/* ---- from recipe to model file ---- */

static jf_status write_recipe(const model *m, const char *path) {
    text t = {0};
    recipe_write(m->recipe, &t, 0);
    jf_status status = text_check(m->ctx, &t);
    if (status == JF_OK) status = file_replace(m->ctx, path, t.chars, t.length);
    text_free(&t);
    return status;
}

/* FOLDER/name, where there is a folder. */
static jf_status write_into(const model *m, const char *folder, const char *name,
                            jf_status (*write)(const model *m, const char *path)) {
    char *path;
    if (!folder) return JF_OK;
    JF_TRY(file_join(m->ctx, &path, folder, name));
    jf_status status = write(m, path);
    free(path);
    return status;
}

/* Before data are read: a folder that another process works in, or that has nothing to resume, is refused at
 * once. */
static jf_status enter_folder(jf_context *ctx, run_folder **out, const jf_train_options *o) {
    *out = NULL;
    if (!o->folder) return JF_OK;
    if (file_is_folder(o->folder)) {
        JF_TRY(run_folder_open(ctx, out, o->folder));
        return o->resume ? run_folder_check_resumable(*out) : JF_OK;
    }
    if (o->resume)
        return jf_fail(ctx, JF_ERROR_IO,
                       "%s: there is no such folder, expected one with a run to resume; to begin one, do not "
                       "ask for resuming",
                       o->folder);
    return JF_OK;
}

/* Of a run that is resumed: what another recipe asks for is not made first. */
static jf_status check_recipe(jf_context *ctx, const recipe *r, const jf_train_options *o) {
    checkpoint_store g = {0};
    if (!o->folder || !o->resume) return JF_OK;
    JF_TRY(recipe_check(r));
    jf_status status = checkpoint_store_create(ctx, &g, o->folder);
    if (status == JF_OK) status = checkpoint_store_check_recipe(&g, r);
    checkpoint_store_free(&g);
    return status;
}

/* Of a run that is not resumed; a recipe or data that cannot be used leave no trace, since this comes after
 * them. */
static jf_status begin_folder(const model *m, run_folder **f, const jf_train_options *o) {
    if (!o->folder || o->resume) return JF_OK;
    if (!*f) JF_TRY(file_make_folder(m->ctx, o->folder));
    if (!*f) JF_TRY(run_folder_open(m->ctx, f, o->folder));
    JF_TRY(run_folder_set_aside(*f));
    return write_into(m, o->folder, RUN_RECIPE, write_recipe);
}

/* ---- several ranks ---- */

/* Before anything is read: ranks that were started with something else would read something else. */
static jf_status check_start(jf_context *ctx, const recipe *r, const jf_train_options *o) {
    ranks *communicator = ranks_of(ctx);
    char way[160];
    text t = {0};
    if (ranks_size(communicator) == 1) return JF_OK;
    format_text(way, sizeof way, "seed %llu%s%s%s", (unsigned long long)o->seed, o->resume ? ", resumed" : "",
                o->changed_data ? ", with changed data" : "", o->deterministic ? ", deterministic" : "");
    recipe_write(r, &t, 0);
    jf_status status = text_check(ctx, &t);
    if (status == JF_OK) status = ranks_same(communicator, "recipe", t.chars);
    if (status == JF_OK) status = ranks_same(communicator, "seed or way of training", way);
    text_free(&t);
    return status;
}

/* Rank 0 alone has the folder; where it fails all of them do. */
static jf_status open_first(jf_context *ctx, run_folder **folder, const recipe *r,
                            const jf_train_options *o) {
    ranks *communicator = ranks_of(ctx);
    jf_status status = JF_OK;
    if (ranks_is_first(communicator)) {
        status = enter_folder(ctx, folder, o);
        if (status == JF_OK) status = check_recipe(ctx, r, o);
    }
    return ranks_agree(communicator, status);
}

static jf_status open_all(jf_context *ctx, dataset **data, model **m, const recipe *r,
                          const jf_train_options *options) {
    ranks *communicator = ranks_of(ctx);
    char name[DEVICE_MAX_NAME];
    jf_train_options mine = *options; /* this rank's */
    mine.threads = ranks_threads(communicator, options->threads);
    mine.device = device_name_at(options->device, ranks_place(communicator), name);
    jf_status status = train_open(ctx, data, m, r, &mine);
    if (status == JF_OK && *data) status = dataset_examine(*data);
    if (status == JF_OK) status = train_tell_loose(*m, *data);
    if (status == JF_OK && *data) status = train_measure_condition_range(*m, *data);
    JF_TRY(ranks_agree(communicator, status));
    return data_parallel_check_same(*m, *data);
}

static void tell_ranks(const model *m) {
    ranks *communicator = ranks_of(m->ctx);
    if (ranks_size(communicator) > 1) jf_log(m->ctx, "%d ranks share every batch", ranks_size(communicator));
}

/* ---- all of it ---- */

jf_status train_recipe(jf_context *ctx, model **out, const recipe *r, const jf_train_options *options) {
    ranks *communicator = ranks_of(ctx);
    dataset *data = NULL;
    model *m = NULL;
    run_folder *folder = NULL;
    jf_status status, trained;
    int first = ranks_is_first(communicator);
    *out = NULL;
    JF_TRY_DONE(check_start(ctx, r, options));
    JF_TRY_DONE(open_first(ctx, &folder, r, options));
    JF_TRY_DONE(open_all(ctx, &data, &m, r, options));
    JF_TRY_DONE(named_make_absolute(m->recipe)); /* of the run and its model, which are used from anywhere */
    tell(m);
    tell_ranks(m);
    status = train_tell_memory(m, data);
    if (status == JF_OK && first) status = begin_folder(m, &folder, options);
    JF_TRY_DONE(ranks_agree(communicator, status));
    trained = train_run(m, data, options, TRAIN_INTERVAL);
    if (trained != JF_OK && trained != JF_STOPPED) JF_TRY_DONE(trained);
    /* only steps that were not the same could have made them different */
    JF_TRY_DONE(model_check_same(m, "set of weights after training (checksum)"));
    status = first ? write_into(m, options->folder, RUN_MODEL, model_save) : JF_OK;
    JF_TRY_DONE(ranks_agree(communicator, status));
    if (folder && trained == JF_OK) run_folder_finish(folder);
    status = trained;
    *out = m;
    m = NULL;
done:
    if (folder && status < 0) status = run_folder_give_up(folder, status);
    dataset_free(data);
    model_free(m);
    run_folder_close(folder);
    return status;
}
