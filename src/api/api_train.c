/* Public: training, judging, reports, speed. */
#include "api/api.h"
#include "judge/pack.h"
#include "ranks/ranks.h"
#include "train/bench.h"
#include "train/run_folder.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>

static train_origin origin_of(const char *name, int threads, uint64_t seed) {
    return (train_origin){.device_name = name, .threads = threads, .seed = seed};
}

static int relay_progress(void *user, const train_progress *p) {
    jf_context *ctx = user;
    jf_term terms[TERM_COUNT];
    for (int i = 0; i < TERM_COUNT; i++)
        terms[i] = (jf_term){.name = loss_term_info[i].name,
                             .about = loss_about(p->objective, (term_id)i),
                             .value = p->terms.value[i],
                             .part = loss_term_info[i].role == TERM_IS_PART};
    jf_training training = {.phase = p->phase,
                            .epoch = p->epoch,
                            .epochs = p->epochs,
                            .batch = p->batch,
                            .batches = p->batches,
                            .epoch_ended = p->epoch_ended,
                            .step = p->step,
                            .term_count = TERM_COUNT,
                            .terms = terms,
                            .best = p->best,
                            .rate = p->rate,
                            .seconds = p->seconds,
                            .seconds_left = p->seconds_left,
                            .ks_median = p->ks_median,
                            .ks_max = p->ks_max,
                            .held_out = p->held_out,
                            .best_epoch = p->best_epoch,
                            .model = p->model};
    jf_progress progress = {
        .phase = p->phase, .done = (uint64_t)p->batch, .total = (uint64_t)p->batches, .training = &training};
    return (int)context_tell(ctx, &progress);
}

jf_status jf_train(jf_model **out, jf_context *ctx, const jf_recipe *r, const jf_train_options *options) {
    JF_GIVES(ctx, out, ctx, r);
    jf_train_options o;
    JF_TRY(SIZED_TAKE(ctx, jf_train_options, &o, options));
    if (o.resume && !o.folder) return jf_fail(ctx, JF_ERROR_ARGUMENT, "a run to resume: no folder was given");
    return train_recipe(ctx, out, r, origin_of(o.device, o.threads, o.seed),
                        &(train_options){.folder = o.folder,
                                         .resume = o.resume,
                                         .changed_data = o.changed_data,
                                         .deterministic = o.deterministic,
                                         .interval = TRAIN_INTERVAL,
                                         .progress = relay_progress,
                                         .user = ctx});
}

jf_status jf_judge(jf_judgement **out, const jf_model *m, const jf_judge_options *options) {
    JF_GIVES(CONTEXT_OF(m), out, m);
    jf_judge_options o;
    JF_TRY(SIZED_TAKE(m->ctx, jf_judge_options, &o, options));
    JF_NEEDS_EACH(m->ctx, o.then, o.then_count);
    if (o.test && o.test_data)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "data to judge on: both a file and data in memory were given");
    if (o.points > LONG_MAX) return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "%zu points, expected less", o.points);
    if (o.temperature != 0 && (!(o.temperature >= JUDGE_LEAST_TEMPERATURE) || isinf(o.temperature)))
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "temperature to judge at: found %g, expected a finite number from %g on",
                       o.temperature, JUDGE_LEAST_TEMPERATURE);
    return judge_create(m, out,
                        &(judge_request){.points = (long)o.points,
                                         .seed = o.seed,
                                         .denoise = o.denoise,
                                         .inputs = count_as_int(o.inputs),
                                         .test = o.test,
                                         .test_labels = o.test_labels,
                                         .test_rows = o.test_data,
                                         .temperature = o.temperature,
                                         .simulate = o.simulate,
                                         .simulate_user = o.simulate_user,
                                         .then = o.then,
                                         .then_count = count_as_int(o.then_count)});
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
    JF_NEEDS_EACH(m->ctx, o.then, o.then_count);
    jf_status status = pack_model(m,
                                  &(pack_options){.path = path,
                                                  .name = o.name,
                                                  .half = o.half,
                                                  .run = o.run,
                                                  .tolerance = o.tolerance > 0 ? o.tolerance : PACK_TOLERANCE,
                                                  .judging = {.points = (long)o.points,
                                                              .seed = o.seed,
                                                              .then = o.then,
                                                              .then_count = count_as_int(o.then_count)},
                                                  .threads = o.threads,
                                                  .declare_all = recipe_declare_all},
                                  &table);
    if (told && (status == JF_OK || status == JF_ERROR_NUMERIC)) {
        jf_status given = give_text(m->ctx, told, &table, JF_OK);
        return status == JF_OK ? given : status;
    }
    text_free(&table);
    return status;
}

/* Rank 0 alone has the folder. */
static jf_status hold_folder(const model *m, run_folder **held, const char *folder) {
    *held = NULL;
    if (!context_writes(m->ctx)) return JF_OK;
    JF_TRY(file_make_folder(m->ctx, folder));
    return run_folder_open(m->ctx, held, folder);
}

jf_status jf_report(const jf_model *m, const jf_judgement *j, const char *folder) {
    JF_NEEDS(CONTEXT_OF(m), m, j, folder);
    run_folder *held;
    jf_status status = ranks_agree(ranks_of(m->ctx), hold_folder(m, &held, folder));
    if (status == JF_OK) status = report_write(m, j, folder);
    run_folder_close(held);
    return status;
}

/* ---- speed ---- */

static jf_status give_profile(jf_context *ctx, jf_profile *out, const bench_profile *p) {
    if (p->count == 0) return JF_OK;
    JF_TRY(MEM_NEW(ctx, &out->parts, (size_t)p->count));
    for (int i = 0; i < p->count; i++) {
        const bench_part *part = &p->parts[i];
        out->parts[i] = (jf_profile_part){.name = part->name,
                                          .calls = part->calls,
                                          .ms = part->ms,
                                          .share = part->share,
                                          .gflops = part->gflops};
    }
    out->count = (size_t)p->count;
    out->ms = p->ms;
    return JF_OK;
}

void jf_bench_result_free(jf_bench_result *r) {
    if (!r) return;
    free(r->train_profile.parts);
    free(r->sample_profile.parts);
    r->train_profile = r->sample_profile = (jf_profile){0};
}

static jf_status measure(jf_context *ctx, const jf_recipe *r, const jf_bench_options *o,
                         jf_bench_result *made) {
    dataset *data = NULL;
    model *m = NULL;
    bench_result result = {0};
    jf_status status;
    made->batch = o->batch > 0 && o->batch < INT_MAX ? o->batch : recipe_int(r, "train.batch");
    JF_TRY_DONE(train_open(ctx, &data, &m, r, origin_of(o->device, o->threads, 1)));
    JF_TRY_DONE(bench_run(m,
                          &(bench_options){.batch = (int)made->batch,
                                           .seconds = o->seconds > 0 ? o->seconds : 3,
                                           .profile = o->profile,
                                           .sample_as_trained = o->sample_as_trained},
                          &result));
    _Static_assert(sizeof made->device >= DEVICE_MAX_WORDS, "the device's description fits its field");
    device_describe(m->d, made->device);
    made->parameters = m->parameters.total;
    made->steps = result.steps;
    made->train_precision = precision_names[result.train_precision];
    made->sample_precision = precision_names[result.sample_precision];
    made->train_samples_per_s = result.train_samples_per_s;
    made->sample_samples_per_s = result.sample_samples_per_s;
    made->peak_memory_mib = result.peak_memory_mib;
    JF_TRY_DONE(give_profile(ctx, &made->train_profile, &result.train));
    JF_TRY_DONE(give_profile(ctx, &made->sample_profile, &result.sample));
done:
    bench_result_free(&result);
    model_free(m);
    dataset_free(data);
    return status;
}

jf_status jf_bench(jf_bench_result *out, jf_context *ctx, const jf_recipe *r,
                   const jf_bench_options *options) {
    JF_NEEDS(ctx, out, ctx, r);
    jf_bench_options o;
    jf_bench_result made = {0};
    JF_TRY(SIZED_BEGIN(ctx, jf_bench_result, out));
    JF_TRY(SIZED_TAKE(ctx, jf_bench_options, &o, options));
    jf_status status = measure(ctx, r, &o, &made);
    if (status != JF_OK) jf_bench_result_free(&made);
    SIZED_GIVE(jf_bench_result, out, &made);
    return status;
}
