#include "train/match.h"
#include "base/memory.h"
#include "train/train_memory.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the recipe ---- */

/* Keys whose words do not say what they do: "auto" is another thing on another device, and a file has several
 * paths. What they do is compared: of files the values that were read. */
static const char *const by_effect[] = {"train.precision", "train.keep", "data.file", "data.y_file"};

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

static jf_status parse(const char *there, const recipe *r, recipe **out) {
    JF_TRY(recipe_parse(recipe_context(r), out, there, recipe_name(r)));
    JF_TRY(recipe_declare_all(*out));
    JF_TRY(recipe_check(*out));
    return recipe_check_complete(*out);
}

/* The recipe of a checkpoint, written with this run's values of the keys that are compared otherwise. */
static jf_status rewrite(const char *there, const recipe *r, text *out) {
    recipe *other = NULL;
    jf_status status;
    JF_TRY_DONE(parse(there, r, &other));
    for (size_t i = 0; i < sizeof by_effect / sizeof *by_effect; i++)
        if (recipe_get(r, by_effect[i]) && recipe_get(other, by_effect[i]) &&
            *recipe_get(other, by_effect[i]))
            JF_TRY_DONE(recipe_set(other, by_effect[i], recipe_get(r, by_effect[i])));
    recipe_write(other, out, 0);
    status = text_check(recipe_context(r), out);
done:
    recipe_free(other);
    return status;
}

jf_status match_recipe(const char *path, const char *there, const recipe *r) {
    jf_context *ctx = recipe_context(r);
    text now = {0}, then = {0};
    char difference[400];
    recipe_write(r, &now, 0);
    jf_status status = text_check(ctx, &now);
    if (status == JF_OK) status = rewrite(there, r, &then);
    const char *other = status == JF_OK ? then.chars : there;
    if (status != JF_ERROR_MEMORY) status = JF_OK; /* no recipe of this version: it differs as it stands */
    if (status == JF_OK && strcmp(now.chars, other) != 0) {
        first_difference(other, now.chars, difference, sizeof difference);
        status =
            jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: the run to resume has another recipe: %s", path, difference);
    }
    text_free(&now);
    text_free(&then);
    return status;
}

/* ---- the data ---- */

static jf_status match_data(const char *path, const char *there, jf_context *ctx, checkpoint_data *data) {
    data->differ = *there && *data->identity && strcmp(there, data->identity) != 0;
    if (!data->differ) return JF_OK;
    char words[OPTION_WORDS];
    if (!data->may_differ)
        return jf_fail(
            ctx, JF_ERROR_ARGUMENT,
            "%s: the run to resume has other data: %s there, %s now; bring those back, begin a new "
            "run, or go on with the changed data (%s)",
            path, there, data->identity, option_words(ctx, OPTION_CHANGED_DATA, "", words));
    jf_log(ctx, "%s: of other data: %s there, %s now; going on with these", path, there, data->identity);
    return JF_OK;
}

/* ---- the device ---- */

/* What is kept may change the last bits; what the recipe of the checkpoint asks for is asked of this device.
 */
static jf_status match_keep(const char *path, const char *recipe_there, const model *m) {
    recipe *other = NULL;
    jf_status status;
    double there, now = train_keep(m->recipe, m->d);
    JF_TRY_DONE(parse(recipe_there, m->recipe, &other));
    there = train_keep(other, m->d);
    if (there != now)
        status = jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                         "%s: the run to resume keeps up to %g MiB of activations, now it is %g: set "
                         "train.keep = %s",
                         path, there, now, recipe_get(other, "train.keep"));
done:
    recipe_free(other);
    return status;
}

static jf_status match_device(const char *path, const tensor_file *file, const model *m) {
    const char *device_there = tensors_note(file, "device"), *there = tensors_note(file, "precision"),
               *device_now = m->d->kind->name, *now = precision_names[train_precision(m)];
    int same = strcmp(there, now) == 0;
    if (strcmp(device_there, device_now) != 0) {
        jf_warn(m->ctx, "%s: goes on on %s what was trained on %s until here%s%s%s%s: not bit for bit", path,
                device_now, device_there, same ? "" : ", with products in ", same ? "" : now,
                same ? "" : " instead of ", same ? "" : there);
        return JF_OK;
    }
    if (!same)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "%s: the run to resume computes its products in %s, now it is %s: set "
                       "train.precision = %s",
                       path, there, now, there);
    return match_keep(path, tensors_note(file, "recipe"), m);
}

/* ---- all of it ---- */

jf_status match_run(const char *path, const tensor_file *file, const model *m, checkpoint_data *data) {
    jf_context *ctx = m->ctx;
    static const char *const needed[] = {"recipe", "seed", "device", "precision", "data"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!tensors_note(file, needed[i]))
            return jf_fail(ctx, JF_ERROR_FORMAT, "%s: not a jointflow checkpoint: \"%s\" is missing", path,
                           needed[i]);
    const char *seed = tensors_note(file, "seed");
    if (strtoull(seed, NULL, 10) != m->seed)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: the run to resume has seed %s, now it is %" PRIu64, path,
                       seed, m->seed);
    JF_TRY(match_recipe(path, tensors_note(file, "recipe"), m->recipe));
    JF_TRY(match_data(path, tensors_note(file, "data"), ctx, data));
    return match_device(path, file, m);
}
