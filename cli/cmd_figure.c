/* jointflow figure: the figures of the paper. */
#include "cli.h"
#include "nearest.h"
#include "progress.h"
#include "stop.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int list_figures(void) {
    const char *name;
    for (int i = 0; (name = jf_figure_name(i)) != NULL; i++) printf("%-14s %s\n", name, jf_figure_summary(i));
    return CLI_OK;
}

/* "A.3" may be written A3. */
static int same_name(const char *name, const char *wanted) {
    const char *dot = strchr(name, '.');
    if (strcmp(name, wanted) == 0) return 1;
    return dot && strncmp(name, wanted, (size_t)(dot - name)) == 0 &&
           strcmp(dot + 1, wanted + (dot - name)) == 0;
}

static int check_name(const call *c, const char *wanted) {
    const char *name;
    nearest near = nearest_begin(wanted);
    if (strcmp(wanted, "all") == 0 || strcmp(wanted, "F") == 0) return CLI_OK;
    for (int i = 0; (name = jf_figure_name(i)) != NULL; i++) {
        if (same_name(name, wanted)) return CLI_OK;
        nearest_try(&near, name);
    }
    if (near.best)
        return cli_misuse(c->command, "unknown figure \"%s\"; did you mean \"%s\"?", wanted, near.best);
    return cli_misuse(c->command, "unknown figure \"%s\"; jointflow figure lists them", wanted);
}

static int draw(const call *c, const char *name, const char *folder, const char **models, int model_count) {
    const arguments *a = c->arguments;
    const volatile int *stop = stop_on_signals();
    progress line;
    progress_begin(&line, option_given(a, "quiet"), 0, stop);
    jf_context_set_log(c->ctx, progress_note, &line);
    jf_figure_options options = {.size = sizeof(jf_figure_options),
                                 .folder = folder,
                                 .models = models,
                                 .model_count = (size_t)model_count,
                                 .model_folder = option_text(a, "models"),
                                 .fresh = option_given(a, "train"),
                                 .quarter_turn = option_given(a, "quarter-turn"),
                                 .seed = option_whole(a, "seed"),
                                 .device = cli_device(c),
                                 .threads = cli_threads(c)};
    jf_context_set_progress(c->ctx, progress_show, &line);
    jf_status status = jf_figure(c->ctx, name, &options);
    jf_context_set_progress(c->ctx, NULL, NULL);
    progress_end(&line);
    stop_end();
    if (status == JF_STOPPED) {
        cli_fail(
            "stopped before figure %s was drawn; the same command goes on with the models that are finished",
            name);
        return CLI_STOPPED;
    }
    if (status != JF_OK) return cli_fail_library(c);
    if (!line.quiet) printf("figure:  %s\n", folder);
    return CLI_OK;
}

static int figure(const call *c) {
    const arguments *a = c->arguments;
    const char *name = argument(a, 0), *given = option_text(a, "output");
    if (!name) return list_figures();
    int code = check_name(c, name), count = 0;
    if (code != CLI_OK) return code;
    if (option_given(a, "models") && option_given(a, "train"))
        return cli_misuse(c->command, "--models and --train: expected one of the two");
    if (option_given(a, "models") && !cli_is_folder(option_text(a, "models")))
        return cli_fail("--models %s: no such folder", option_text(a, "models"));
    if (count == 0 && option_given(a, "model") && strcmp(name, "all") == 0)
        return cli_misuse(c->command, "--model is for one figure, --models FOLDER for all of them");
    const char **models = calloc((size_t)a->given_count + 1, sizeof *models);
    char *folder = given ? cli_join("%s", given) : cli_join("out/figure-%s", name);
    while (models && (models[count] = option_item(a, "model", count)) != NULL) count++;
    code = models && folder ? draw(c, name, folder, models, count) : cli_fail_memory();
    free(models);
    free(folder);
    return code;
}

static const option options[] = {
    {"output", 'o', OPTION_TEXT, "FOLDER", NULL, 0, 0, "where the pictures go, by default out/figure-NAME"},
    {"model", 0, OPTION_LIST, "MODEL", NULL, 0, 0,
     "use this run folder or model file; repeat in the figure's order"},
    {"models", 0, OPTION_TEXT, "FOLDER", NULL, 0, 0,
     "draw from the models in this folder, such as models/, and train none"},
    {"train", 0, OPTION_FLAG, NULL, NULL, 0, 0, "train, although a model came with the program"},
    {"quarter-turn", 0, OPTION_FLAG, NULL, NULL, 0, 0, "figure 5: lines in z turn instead of going straight"},
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_DEVICE,
    {"quiet", 'q', OPTION_FLAG, NULL, NULL, 0, 0, "say nothing unless it fails"},
    {0},
};

static const example examples[] = {
    {"Which figures there are", "jointflow figure"},
    {"Digits, from the model that came with the program", "jointflow figure A.3"},
    {"Every figure but the schematics", "jointflow figure all --models models"},
    {"Train what figure 3 needs and draw it", "jointflow figure 3 --train -o out/figure-3"},
    {"Draw it from a model that is there", "jointflow figure 3 --model out/crescents -o out/figure-3"},
    {0},
};

const command command_figure = {
    .name = "figure",
    .summary = "draw a figure of the paper",
    .arguments = "[NAME]",
    .about = "Draws a figure of the paper from the models that came with the program, those in the folder of "
             "--models, or "
             "those that --model names. Where there are none, or with --train, models are trained first, "
             "unless the "
             "folder of the figure has them from an earlier call. Without NAME lists the figures.\n"
             "NAME may also be F, for F.1 to F.8, or all. Of several figures none is trained unless --train "
             "asks for it, "
             "and those whose models or data are not there are left out, with a line that says why.",
    .options = options,
    .examples = examples,
    .run = figure,
};
