/* Public: training, judging, reports, speed. */
#include "api/api.h"
#include "judge/pack.h"
#include "ranks/ranks.h"
#include "train/bench.h"
#include "train/run_folder.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>

jf_status jf_train(jf_model **out, jf_context *ctx, const jf_recipe *r, const jf_train_options *options) {
    JF_GIVES(ctx, out, ctx, r);
    jf_train_options o;
    JF_TRY(SIZED_TAKE(ctx, jf_train_options, &o, options));
    if (o.resume && !o.folder) return jf_fail(ctx, JF_ERROR_ARGUMENT, "a run to resume: no folder was given");
    return train_recipe(ctx, out, r, &o);
}

jf_status jf_judge(jf_judgement **out, const jf_model *m, const jf_judge_options *options) {
    JF_GIVES(CONTEXT_OF(m), out, m);
    jf_judge_options o;
    JF_TRY(SIZED_TAKE(m->ctx, jf_judge_options, &o, options));
    if (o.test && o.test_data)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "data to judge on: both a file and data in memory were given");
    if (o.points > LONG_MAX) return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "%zu points, expected less", o.points);
    if (o.temperature != 0 && (!(o.temperature >= JUDGE_LEAST_TEMPERATURE) || isinf(o.temperature)))
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "temperature to judge at: found %g, expected a finite number from %g on",
                       o.temperature, JUDGE_LEAST_TEMPERATURE);
    return judge_create(m, out, &o);
}
const char *jf_judgement_json(const jf_judgement *j) {
    return j ? j->json.chars : "";
}
const char *jf_judgement_text(const jf_judgement *j) {
    return j ? j->table.chars : "";
}
void jf_judgement_free(jf_judgement *j) {
    judge_free(j);
}

jf_status jf_pack(char **told, const jf_model *m, const char *path, const jf_pack_options *options) {
    jf_pack_options o;
    text table = {0};
    if (told) *told = NULL;
    JF_NEEDS(CONTEXT_OF(m), m, path);
    JF_TRY(SIZED_TAKE(m->ctx, jf_pack_options, &o, options));
    jf_status status = pack_model(m, path, &o, recipe_declare_all, &table);
    if (told && (status == JF_OK || status == JF_ERROR_NUMERIC)) {
        jf_status given = give_text(m->ctx, told, &table, JF_OK);
        return status == JF_OK ? given : status;
    }
    text_free(&table);
    return status;
}

/* Rank 0 alone has the folder. */
static jf_status lock_folder(const model *m, run_folder **out, const char *folder) {
    *out = NULL;
    if (!context_writes(m->ctx)) return JF_OK;
    JF_TRY(file_make_folder(m->ctx, folder));
    return run_folder_open(m->ctx, out, folder);
}

jf_status jf_report(const jf_model *m, const jf_judgement *j, const char *folder) {
    JF_NEEDS(CONTEXT_OF(m), m, j, folder);
    run_folder *locked;
    jf_status status = ranks_agree(ranks_of(m->ctx), lock_folder(m, &locked, folder));
    if (status == JF_OK) status = report_write(m, j, folder);
    run_folder_close(locked);
    return status;
}

/* ---- speed ---- */

void jf_bench_result_free(jf_bench_result *r) {
    if (r) bench_result_free(r);
}

jf_status jf_bench(jf_bench_result *out, jf_context *ctx, const jf_recipe *r,
                   const jf_bench_options *options) {
    JF_NEEDS(ctx, out, ctx, r);
    jf_bench_options o;
    jf_bench_result made = {0};
    dataset *data = NULL;
    model *m = NULL;
    JF_TRY(SIZED_BEGIN(ctx, jf_bench_result, out));
    JF_TRY(SIZED_TAKE(ctx, jf_bench_options, &o, options));
    jf_train_options use = {.device = o.device, .threads = o.threads, .seed = 1};
    jf_status status = train_open(ctx, &data, &m, r, &use);
    if (status == JF_OK) status = bench_run(m, &o, &made);
    model_free(m);
    dataset_free(data);
    SIZED_GIVE(jf_bench_result, out, &made);
    return status;
}
