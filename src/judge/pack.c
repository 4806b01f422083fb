#include "judge/pack.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "io/shipped.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ending[] = ".safetensors";

static jf_status judge_as_asked(const model *m, judgement **out, const jf_pack_options *o) {
    return judge_create(m, out,
                        &(jf_judge_options){.points = o->points, .seed = o->seed, .cascade = o->cascade});
}

/* The packed model, judged as it will be used: from its file. */
static jf_status judge_file(const model *m, const jf_pack_options *o, const char *path,
                            declare_fn declare_all, model **packed, judgement **out) {
    JF_TRY(model_load(m->ctx, packed, path, m->d->kind->name, o->threads, declare_all));
    return judge_as_asked(*packed, out, o);
}

static jf_status compare(const model *m, const char *path, const jf_pack_options *o, const judgement *after,
                         text *told) {
    double tolerance = o->tolerance > 0 ? o->tolerance : PACK_TOLERANCE;
    judgement *before = NULL;
    JF_TRY(judge_as_asked(m, &before, o));
    double worse = judgements_worse_by(before, after, m->units.dim_x);
    judgements_compare(before, after, told);
    judge_free(before);
    JF_TRY(text_check(m->ctx, told));
    if (worse <= tolerance) return JF_OK;
    return jf_fail(
        m->ctx, JF_ERROR_NUMERIC,
        "%s: in half precision the loss is worse by %.3g nats per dimension, expected at most %g: pack the "
        "model with whole weights, or allow more",
        path, worse, tolerance);
}

static jf_status facts_of_file(jf_context *ctx, const char *path, card_facts *facts,
                               char sha256[SHA256_TEXT]) {
    char *bytes;
    JF_TRY(file_read(ctx, &bytes, &facts->bytes, path, (size_t)1 << 36));
    sha256_text(sha256, bytes, facts->bytes);
    facts->sha256 = sha256;
    free(bytes);
    return JF_OK;
}

/* PATH with another ending, yours to free. */
static jf_status with_ending(jf_context *ctx, char **out, const char *path, const char *other) {
    size_t length = strlen(path) - (sizeof ending - 1);
    JF_TRY(MEM_NEW(ctx, out, length + strlen(other) + 1));
    memcpy(*out, path, length);
    strcpy(*out + length, other);
    return JF_OK;
}

static jf_status check_path(jf_context *ctx, const char *path) {
    size_t length = strlen(path);
    if (length > sizeof ending - 1 && strcmp(path + length - (sizeof ending - 1), ending) == 0) return JF_OK;
    return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: expected a name that ends with %s", path, ending);
}

/* The name that was given; that of the file, where it lies among the models that come with the program;
 * otherwise its path from the root, so that commands work from anywhere. */
static jf_status find_call(jf_context *ctx, const char *path, const char *given, const char *short_name,
                           char **out) {
    char *folder, *found;
    const char *slash = strrchr(path, '/');
    *out = NULL;
    if (given) return mem_copy_text(ctx, out, given);
    JF_TRY(mem_copy_text(ctx, &folder, slash ? path : "."));
    if (slash) folder[slash - path + (slash == path)] = 0;
    found = realpath(folder, NULL);
    free(folder);
    if (!found) return mem_copy_text(ctx, out, path); /* whoever writes it tells why */
    jf_status status = shipped_is_folder(ctx, &shipped_models, found)
                           ? mem_copy_text(ctx, out, short_name)
                           : file_join(ctx, out, found, slash ? slash + 1 : path);
    free(found);
    return status;
}

jf_status pack_model(const model *m, const char *path, const jf_pack_options *o, declare_fn declare_all,
                     text *told) {
    model *packed = NULL;
    judgement *j = NULL;
    char *draft = NULL, *card_path = NULL, *called = NULL, sha256[SHA256_TEXT];
    text card = {0};
    jf_status status;
    JF_TRY(check_path(m->ctx, path));
    JF_TRY_DONE(with_ending(m->ctx, &card_path, path, ".md"));
    JF_TRY_DONE(with_ending(m->ctx, &draft, path, ".packing.tmp"));
    JF_TRY_DONE(model_save_as(m, draft, o->half ? WEIGHTS_HALF : WEIGHTS_WHOLE, file_replace));
    JF_TRY_DONE(judge_file(m, o, draft, declare_all, &packed, &j));
    if (o->half) JF_TRY_DONE(compare(m, path, o, j, told));
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char short_name[256];
    snprintf(short_name, sizeof short_name, "%.*s", (int)(strlen(name) - (sizeof ending - 1)), name);
    JF_TRY_DONE(find_call(m->ctx, path, o->name, short_name, &called));
    card_facts facts = {.name = o->name ? o->name : short_name,
                        .called = called,
                        .file = name,
                        .half = o->half,
                        .comparison = told->chars ? told->chars : "",
                        .run = o->run};
    JF_TRY_DONE(facts_of_file(m->ctx, draft, &facts, sha256));
    JF_TRY_DONE(card_write(packed, j, &facts, &card));
    JF_TRY_DONE(file_rename(m->ctx, draft, path));
    JF_TRY_DONE(file_replace(m->ctx, card_path, card.chars, card.length));
done:
    if (draft && file_exists(draft)) remove(draft);
    free(draft);
    free(card_path);
    free(called);
    text_free(&card);
    judge_free(j);
    model_free(packed);
    return status;
}
