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

/* The packed model, judged as it will be used: from its file. */
static jf_status judge_file(const model *m, const pack_options *o, const char *path, model **packed,
                            judgement **out) {
    JF_TRY(model_load(m->ctx, packed, path, m->d->kind->name, o->threads, o->declare_all));
    return judge_create(*packed, out, &o->judging);
}

static jf_status compare(const model *m, const pack_options *o, const judgement *after, text *told) {
    judgement *before = NULL;
    JF_TRY(judge_create(m, &before, &o->judging));
    double worse = judgements_worse_by(before, after, m->units.dim_x);
    judgements_compare(before, after, told);
    judge_free(before);
    JF_TRY(text_check(m->ctx, told));
    if (worse <= o->tolerance) return JF_OK;
    return jf_fail(
        m->ctx, JF_ERROR_NUMERIC,
        "%s: in half precision the loss is worse by %.3g nats per dimension, expected at most %g: pack the "
        "model with whole weights, or allow more",
        o->path, worse, o->tolerance);
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
static jf_status find_call(jf_context *ctx, const pack_options *o, const char *short_name, char **out) {
    char *folder, *found;
    const char *slash = strrchr(o->path, '/');
    *out = NULL;
    if (o->name) return mem_copy_text(ctx, out, o->name);
    JF_TRY(mem_copy_text(ctx, &folder, slash ? o->path : "."));
    if (slash) folder[slash - o->path + (slash == o->path)] = 0;
    found = realpath(folder, NULL);
    free(folder);
    if (!found) return mem_copy_text(ctx, out, o->path); /* whoever writes it tells why */
    jf_status status = shipped_is_folder(ctx, &shipped_models, found)
                           ? mem_copy_text(ctx, out, short_name)
                           : file_join(ctx, out, found, slash ? slash + 1 : o->path);
    free(found);
    return status;
}

jf_status pack_model(const model *m, const pack_options *o, text *told) {
    model *packed = NULL;
    judgement *j = NULL;
    char *draft = NULL, *card_path = NULL, *called = NULL, sha256[SHA256_TEXT];
    text card = {0};
    jf_status status;
    JF_TRY(check_path(m->ctx, o->path));
    JF_TRY_DONE(with_ending(m->ctx, &card_path, o->path, ".md"));
    JF_TRY_DONE(with_ending(m->ctx, &draft, o->path, ".packing.tmp"));
    JF_TRY_DONE(model_save_as(m, draft, o->half ? WEIGHTS_HALF : WEIGHTS_WHOLE, file_replace));
    JF_TRY_DONE(judge_file(m, o, draft, &packed, &j));
    if (o->half) JF_TRY_DONE(compare(m, o, j, told));
    const char *slash = strrchr(o->path, '/'), *name = slash ? slash + 1 : o->path;
    char short_name[256];
    snprintf(short_name, sizeof short_name, "%.*s", (int)(strlen(name) - (sizeof ending - 1)), name);
    JF_TRY_DONE(find_call(m->ctx, o, short_name, &called));
    card_facts facts = {.name = o->name ? o->name : short_name,
                        .called = called,
                        .file = name,
                        .half = o->half,
                        .comparison = told->chars ? told->chars : "",
                        .run = o->run};
    JF_TRY_DONE(facts_of_file(m->ctx, draft, &facts, sha256));
    JF_TRY_DONE(card_write(packed, j, &facts, &card));
    JF_TRY_DONE(file_rename(m->ctx, draft, o->path));
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
