/* jointflow bench: how fast a recipe trains and samples here. */
#include "cli.h"
#include "progress.h"
#include "stop.h"
#include <math.h>
#include <stdio.h>

static void print_json_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        if ((unsigned char)*text < ' ')
            printf("\\u%04x", *text);
        else
            putchar(*text);
    }
    putchar('"');
}

static void print_json_number(const char *key, double value) {
    if (isfinite(value))
        printf("\"%s\": %.6g, ", key, value);
    else
        printf("\"%s\": null, ", key);
}

static void print_json_profile(const char *of, const jf_profile *p, const char *before) {
    for (size_t i = 0; i < p->count; i++) {
        const jf_profile_part *part = &p->parts[i];
        printf("%s{\"of\": \"%s\", \"part\": ", i ? ", " : before, of);
        print_json_text(part->name);
        printf(", ");
        print_json_number("calls", part->calls);
        print_json_number("ms", part->ms);
        print_json_number("gflops", part->gflops > 0 ? part->gflops : NAN);
        printf("\"share\": %.6g}", part->share);
    }
}

static void print_json(const jf_bench_result *r) {
    putchar('{');
    print_json_number("train_samples_per_s", r->train_samples_per_s);
    print_json_number("sample_samples_per_s", r->sample_samples_per_s);
    print_json_number("peak_memory_mib", r->peak_memory_mib);
    printf("\"parameters\": %zu, \"batch\": %lld, \"steps\": %lld, ", r->parameters, (long long)r->batch,
           (long long)r->steps);
    printf("\"train_precision\": \"%s\", \"sample_precision\": \"%s\", \"device\": ", r->train_precision,
           r->sample_precision);
    print_json_text(r->device);
    if (r->train_profile.count > 0) {
        printf(", \"profile\": ");
        print_json_profile("training", &r->train_profile, "[");
        print_json_profile("sampling", &r->sample_profile, ", ");
        putchar(']');
    }
    puts("}");
}

static void print_profile(const char *of, const jf_profile *p) {
    if (p->count == 0) return;
    printf("\n%-38s %10s %12s %7s %9s\n", of, "calls", "ms of thread", "share", "GFLOP/s");
    for (size_t i = 0; i < p->count; i++) {
        const jf_profile_part *part = &p->parts[i];
        printf("  %-36s ", part->name);
        if (part->calls > 0)
            printf("%10.0f", part->calls);
        else
            printf("%10s", "");
        printf(" %12.3f %6.1f%%", part->ms, 100 * part->share);
        if (part->gflops > 0) printf(" %9.1f", part->gflops);
        putchar('\n');
    }
    printf("  %-36s %10s %12.3f %6.1f%%\n", "whole step", "", p->ms, 100.0);
}

static void print_table(const jf_bench_result *r) {
    printf("training     %.0f samples/s\n", r->train_samples_per_s);
    printf("sampling     %.0f samples/s\n", r->sample_samples_per_s);
    printf("peak memory  %.0f MiB\n", r->peak_memory_mib);
    printf("parameters   %zu\n", r->parameters);
    printf("batch        %lld\n", (long long)r->batch);
    printf("device       %s\n", r->device);
    printf("precision    %s in training, %s in sampling\n", r->train_precision, r->sample_precision);
    print_profile("a training step", &r->train_profile);
    print_profile("a sampling step", &r->sample_profile);
}

/* Shows nothing meanwhile: what is printed are the numbers, or the one sentence of a stop. */
static int measure(const call *c, jf_bench_result *result, const jf_recipe *r, const jf_bench_options *o) {
    progress line;
    progress_begin(&line, 1, 0, stop_on_signals());
    jf_context_set_progress(c->ctx, progress_show, &line);
    jf_status status = jf_bench(result, c->ctx, r, o);
    jf_context_set_progress(c->ctx, NULL, NULL);
    stop_end();
    if (status == JF_STOPPED) {
        cli_fail("stopped before both measurements had ended");
        return CLI_STOPPED;
    }
    return status == JF_OK ? CLI_OK : cli_fail_library(c);
}

static int bench(const call *c) {
    const arguments *a = c->arguments;
    jf_bench_options o = {.size = sizeof(jf_bench_options),
                          .device = cli_device(c),
                          .threads = cli_threads(c),
                          .batch = option_int(a, "batch"),
                          .seconds = option_real(a, "seconds"),
                          .profile = option_given(a, "profile"),
                          .sample_as_trained = option_given(a, "precision")};
    jf_recipe *r = NULL;
    jf_bench_result result = {.size = sizeof(jf_bench_result)};
    int code = cli_load_recipe(c, &r, option_text(a, "recipe"));
    if (code == CLI_OK) code = measure(c, &result, r, &o);
    if (code == CLI_OK) (option_given(a, "json") ? print_json : print_table)(&result);
    jf_bench_result_free(&result);
    jf_recipe_free(r);
    return code;
}

static const option options[] = {
    {"recipe", 0, OPTION_TEXT, "RECIPE", "crescents", 0, 0, "whose model to measure"},
    OPTION_SET,
    OPTION_DEVICE,
    OPTION_PRECISION(", and here in sampling, too, which is in fp32 otherwise"),
    OPTION_THREADS,
    {"batch", 0, OPTION_WHOLE, "N", "0", 0, 1000000, "samples per batch; 0: as in the recipe"},
    {"seconds", 0, OPTION_REAL, "S", "3", 0, 3600, "how long each of the two measurements lasts"},
    {"profile", 0, OPTION_FLAG, NULL, NULL, 0, 0, "also show which parts the time goes into"},
    {"json", 0, OPTION_FLAG, NULL, NULL, 0, 0, "one JSON object instead of a table"},
    {0},
};

static const example examples[] = {
    {"How fast is this machine", "jointflow bench"},
    {"One thread, small batches, for a script",
     "jointflow bench --recipe sectors --threads 1 --batch 100 --json"},
    {"Where the time of an image model goes", "jointflow bench --recipe glyphs-sr-7-14 --profile"},
    {0},
};

const command command_bench = {
    .name = "bench",
    .summary = "measure the speed of training and sampling",
    .arguments = "",
    .about =
        "Trains and samples the model of a recipe for a few seconds each, without writing anything, "
        "and prints samples per second and the peak memory of the program.\n"
        "With --profile it also tells, for a step of either, how often each part ran, its time (of all "
        "threads together; of a GPU its own), its share of the step, and the speed of its arithmetic on one "
        "thread, or on the GPU, where that is counted. Reading the clock makes small models a little "
        "slower; on a GPU kernels are launched one by one, not as a recorded step.",
    .options = options,
    .examples = examples,
    .run = bench,
};
