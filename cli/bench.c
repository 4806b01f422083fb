/* jointflow bench: how fast a recipe trains and samples here. */
#include "cli.h"
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

static void print_json(const jf_bench_result *r) {
    putchar('{');
    print_json_number("train_samples_per_s", r->train_samples_per_s);
    print_json_number("sample_samples_per_s", r->sample_samples_per_s);
    print_json_number("peak_memory_mib", r->peak_memory_mib);
    printf("\"parameters\": %zu, \"batch\": %d, \"steps\": %d, \"device\": ", r->parameters, r->batch,
           r->steps);
    print_json_text(r->device);
    puts("}");
}

static void print_table(const jf_bench_result *r) {
    printf("training     %.0f samples/s\n", r->train_samples_per_s);
    printf("sampling     %.0f samples/s\n", r->sample_samples_per_s);
    printf("peak memory  %.0f MiB\n", r->peak_memory_mib);
    printf("parameters   %zu\n", r->parameters);
    printf("batch        %d\n", r->batch);
    printf("device       %s\n", r->device);
}

static int bench(const call *c) {
    const arguments *a = c->arguments;
    jf_device_options device = cli_device_options(c);
    jf_recipe *r = NULL;
    jf_bench_result result;
    int code = cli_load_recipe(c, &r, option_text(a, "recipe"));
    if (code == CLI_OK &&
        jf_bench(c->ctx, r, &device, option_int(a, "batch"), option_real(a, "seconds"), &result) != JF_OK)
        code = cli_fail_library(c);
    if (code == CLI_OK) (option_given(a, "json") ? print_json : print_table)(&result);
    jf_recipe_free(r);
    return code;
}

static const option options[] = {
    {"recipe", 0, OPTION_TEXT, "RECIPE", "crescents", 0, 0, "whose model to measure"},
    OPTION_SET,
    OPTION_DEVICE,
    OPTION_THREADS,
    {"batch", 0, OPTION_WHOLE, "N", "0", 0, 1000000, "samples a batch; 0: as in the recipe"},
    {"seconds", 0, OPTION_REAL, "S", "3", 0, 3600, "how long each of the two measurements lasts"},
    {"json", 0, OPTION_FLAG, NULL, NULL, 0, 0, "one JSON object instead of a table"},
    {0},
};

static const example examples[] = {
    {"How fast is this machine", "jointflow bench"},
    {"One thread, small batches, for a script",
     "jointflow bench --recipe sectors --threads 1 --batch 100 --json"},
    {0},
};

const command command_bench = {
    .name = "bench",
    .summary = "measure the speed of training and sampling",
    .arguments = "",
    .about = "Trains and samples the model of a recipe for a few seconds each, without writing anything, "
             "and tells samples a second and the most memory that the program held.",
    .options = options,
    .examples = examples,
    .run = bench,
};
