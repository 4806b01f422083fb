/* jointflow report: judgement, pictures and report.html of a model, again. */
#include "cascade_option.h"
#include "judging.h"
#include "outputs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The run folder: the model itself, or where its file lies. */
static char *default_folder(const char *model) {
    const char *slash = strrchr(model, '/');
    if (cli_is_folder(model)) return cli_join("%s", model);
    if (!slash) return cli_join(".");
    return cli_join("%.*s", slash == model ? 1 : (int)(slash - model), model);
}

static int report(const call *c) {
    const arguments *a = c->arguments;
    const char *path = argument(a, 0), *given = option_text(a, "output");
    jf_judge_options options = judging_options(a);
    jf_model *m = NULL;
    jf_judgement *j = NULL;
    char *folder = given ? cli_join("%s", given) : default_folder(path);
    int code =
        folder ? output_check_folder(folder) : cli_fail_memory(); /* before judging, which takes its time */
    if (code == CLI_OK) code = cli_join_ranks(c);
    if (code == CLI_OK) code = cli_load_model(c, &m, path);
    jf_cascade *cascade = NULL;
    if (code == CLI_OK) code = cascade_option_load(c, m, &cascade);
    options.cascade = cascade;
    if (code == CLI_OK && (jf_judge(&j, m, &options) != JF_OK || jf_report(m, j, folder) != JF_OK))
        code = cli_fail_library(c);
    if (code == CLI_OK) printf("%s\nreport:  %s/report.html\n", jf_judgement_text(j), folder);
    jf_judgement_free(j);
    jf_cascade_free(cascade);
    jf_model_free(m);
    free(folder);
    return code;
}

static const option options[] = {
    {"output", 'o', OPTION_TEXT, "FOLDER", NULL, 0, 0, "where to, by default the run folder"},
    OPTIONS_JUDGE,
    OPTION_THEN,
    OPTION_SEED,
    OPTION_RANKS,
    OPTION_THREADS,
    OPTION_DEVICE,
    {0},
};

static const example examples[] = {
    {"Draw the pictures of a run again", "jointflow report out/crescents"},
    {"Elsewhere, with more points", "jointflow report out/crescents --points 100000 -o /tmp/crescents"},
    {0},
};

const command command_report = {
    .name = "report",
    .summary = "judge a model and draw its pictures again",
    .arguments = "MODEL",
    .about =
        "Judges MODEL as jointflow judge does and writes numbers, pictures and report.html, as "
        "training does at its end. Samples of images that other models make larger (--then) are judged and "
        "drawn in that size.",
    .options = options,
    .examples = examples,
    .run = report,
};
