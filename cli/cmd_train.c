/* jointflow train: a recipe into a run folder. */
#include "cli.h"
#include "explore/server.h"
#include "explore/watch.h"
#include "outputs.h"
#include "progress.h"
#include "stop.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* out/NAME: the file's name without folder and .ini, or the name of a shipped recipe as it is
 * (paper/sectors). */
static char *default_folder(const char *recipe) {
    int is_path = recipe[0] == '/' || recipe[0] == '.';
    size_t ending = 0;
    if (cli_ends_with(recipe, ".ini") || cli_is_table(recipe)) ending = strlen(".ini");
    const char *slash = strrchr(recipe, '/'), *name = (is_path || ending) && slash ? slash + 1 : recipe;
    return cli_join("out/%.*s", (int)(strlen(name) - ending), name);
}

/* ---- tables without a recipe ---- */

/* The file of x: of --x, or a table in the place of the recipe; NULL: there is a recipe. A .txt file is a
 * recipe unless columns or a file of y are named. */
static const char *table_of(const call *c) {
    const arguments *a = c->arguments;
    const char *given = argument(a, 0);
    int is_recipe =
        given && cli_ends_with(given, ".txt") && !option_given(a, "y") && !option_given(a, "x-columns");
    if (given && !is_recipe && cli_is_table(given)) return given;
    return option_text(c->arguments, "x");
}

static int check_table(const call *c) {
    static const char *const only_tables[] = {"y",       "x-columns", "y-columns", "discrete",
                                              "ordered", "bounds",    "missing"};
    const arguments *a = c->arguments;
    const char *given = argument(a, 0), *table = table_of(c);
    for (int i = 0; i < 7 && !table; i++)
        if (option_given(a, only_tables[i]))
            return cli_misuse(c->command,
                              "--%s is for tables without a recipe: expected a .csv, .tsv, .txt or .npy "
                              "file, or --x",
                              only_tables[i]);
    if (!given && !table)
        return cli_misuse(c->command, "RECIPE is missing, or --x and --y for a table without one");
    if (given && option_given(a, "x"))
        return cli_misuse(c->command, "found \"%s\" and --x, expected one of them", given);
    if (given && table && !cli_is_file(table) && !option_given(a, "y") && !option_given(a, "x-columns"))
        return cli_fail("%s: no such file; expected a table (.csv or .npy)", table);
    if (table && !option_given(a, "y") && !option_given(a, "x-columns") && given)
        return cli_misuse(c->command,
                          "%s: which columns are x and which y? Expected --x-columns and --y-columns", table);
    return CLI_OK;
}

static void say_found(void *user, const char *line) {
    (void)user;
    puts(line);
    fflush(stdout);
}

/* --bounds, as often as it was given, in one list; NULL in *out: not at all. */
static int join_bounds(const call *c, char **out) {
    const char *item;
    *out = NULL;
    for (int i = 0; (item = option_item(c->arguments, "bounds", i)) != NULL; i++) {
        char *longer = *out ? cli_join("%s,%s", *out, item) : cli_join("%s", item);
        free(*out);
        *out = longer;
        if (!longer) return cli_fail_memory();
    }
    return CLI_OK;
}

static int recipe_for_table(const call *c, jf_recipe **out) {
    const arguments *a = c->arguments;
    char *bounds;
    int code = join_bounds(c, &bounds);
    jf_table_request request = {.size = sizeof(jf_table_request),
                                .x = table_of(c),
                                .y = option_text(a, "y"),
                                .x_columns = option_text(a, "x-columns"),
                                .y_columns = option_text(a, "y-columns"),
                                .discrete = option_given(a, "discrete"),
                                .ordered = option_given(a, "ordered"),
                                .bounds = bounds};
    jf_context_set_log(c->ctx, option_given(a, "quiet") || !cli_is_first_rank(c) ? NULL : say_found, NULL);
    if (code == CLI_OK && jf_recipe_for_table(out, c->ctx, &request) != JF_OK) code = cli_fail_library(c);
    if (code == CLI_OK && option_given(a, "missing") &&
        jf_recipe_set(*out, "data.missing", option_text(a, "missing")) != JF_OK)
        code = cli_fail_library(c);
    if (code == CLI_OK) code = cli_apply_settings(c, *out);
    if (code != CLI_OK) {
        jf_recipe_free(*out);
        *out = NULL;
    }
    free(bounds);
    return code;
}

/* A run is hours of work: it is not written over by mistake. */
static int check_folder(const call *c, const char *folder) {
    static const char *const files[] = {"checkpoint.safetensors", "model.safetensors",
                                        "checkpoint-previous.safetensors"};
    const arguments *a = c->arguments;
    int resume = option_given(a, "resume"), force = option_given(a, "force");
    if (resume && force)
        return cli_misuse(c->command, "--resume continues a run and --force starts it again: not both");
    if (option_given(a, "changed-data") && !resume)
        return cli_misuse(c->command, "--changed-data is for runs that go on: give --resume, too");
    for (int i = 0; i < 3 && !resume && !force; i++) {
        char *path = cli_join("%s/%s", folder, files[i]);
        if (!path) return cli_fail_memory();
        int exists = cli_is_file(path);
        free(path);
        if (exists)
            return cli_fail("%s: holds a run already (%s); continue it with --resume, start again with "
                            "--force, or choose another folder with -o",
                            folder, files[i]);
    }
    return CLI_OK;
}

/* ---- what it says ---- */

/* A word as a POSIX shell reads it back. */
static void print_word(FILE *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%";
    if (*word && !word[strspn(word, plain)]) {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            putc(*word, out);
    }
    putc('\'', out);
}

/* Words of this call that the next one does not need. */
static int is_for_this_call(const char *word) {
    return strcmp(word, "--force") == 0 || strcmp(word, "--resume") == 0 ||
           strcmp(word, "--changed-data") == 0;
}

/* The same command line with --resume; not at its end, where a "--" would make an argument of it. */
static int say_stopped(const call *c, const char *folder) {
    int ranks = jf_ranks_size(c->ctx);
    fprintf(stderr, "jointflow: stopped, saved in %s; continue with:", folder);
    if (ranks > 1) fprintf(stderr, " mpirun -n %d", ranks);
    for (int i = 0; i < c->argc; i++) {
        int dropped = is_for_this_call(c->argv[i]);
        if (!dropped) putc(' ', stderr);
        if (!dropped) print_word(stderr, c->argv[i]);
        if (i == 1) fputs(" --resume", stderr);
    }
    putc('\n', stderr);
    return CLI_STOPPED;
}

static int say_not_begun(void) {
    fprintf(stderr, "jointflow: stopped before training began: nothing was written\n");
    return CLI_STOPPED;
}

/* Models that would make its images larger need not be here yet: the report then shows them as they are. */
static jf_cascade *load_cascade(const call *c, const jf_model *m, int quiet) {
    jf_cascade *cascade;
    jf_load_options device = cli_device_options(c);
    if (jf_cascade_load(&cascade, c->ctx, NULL, m, &device) != JF_OK && !quiet)
        fprintf(stderr, "jointflow: " JF_WARNING "%s; images are judged and drawn as they are\n",
                jf_context_error(c->ctx));
    return cascade;
}

static int judge_and_report(const call *c, const jf_model *m, const char *folder, int quiet) {
    jf_judgement *j = NULL;
    jf_cascade *cascade = load_cascade(c, m, quiet);
    jf_judge_options options = {
        .size = sizeof(jf_judge_options), .seed = option_whole(c->arguments, "seed"), .cascade = cascade};
    if (!quiet) {
        puts("judging ...");
        fflush(stdout);
    }
    jf_status status = jf_judge(&j, m, &options);
    if (status == JF_OK) status = jf_report(m, j, folder);
    if (status == JF_OK && !quiet) printf("\n%s\nreport:  %s/report.html\n", jf_judgement_text(j), folder);
    jf_judgement_free(j);
    jf_cascade_free(cascade);
    return status == JF_OK ? CLI_OK : cli_fail_library(c);
}

/* ---- watching it in the browser ---- */

typedef struct watched {
    progress *line;
    explorer *e; /* NULL: nobody watches */
    server *server;
} watched;

static int show_progress(void *user, const jf_progress *now) {
    watched *w = user;
    if (w->e && now->training) watch_take(w->e->watch, now->training);
    return progress_show(w->line, now);
}

static void watched_end(watched *w) {
    server_stop(w->server);
    if (w->e) watch_free(w->e->watch);
    explorer_free(w->e);
    *w = (watched){.line = w->line};
}

static int watched_begin(const call *c, watched *w, const char *what) {
    if (!option_given(c->arguments, "watch")) return CLI_OK;
    server_options options = {.address = "127.0.0.1", .port = option_int(c->arguments, "port")};
    w->e = explorer_create();
    if (w->e) w->e->watch = watch_create(what);
    if (!w->e || !w->e->watch) return cli_fail_memory();
    int code = server_start(&w->server, w->e, &options);
    if (code == CLI_OK) {
        printf("Open %s in a browser to watch.\n", server_address(w->server));
        fflush(stdout);
    }
    return code;
}

/* ---- the command ---- */

static jf_train_options train_options(const call *c, const char *folder) {
    const arguments *a = c->arguments;
    return (jf_train_options){.size = sizeof(jf_train_options),
                              .folder = folder,
                              .resume = option_given(a, "resume"),
                              .changed_data = option_given(a, "changed-data"),
                              .deterministic = option_given(a, "deterministic"),
                              .seed = option_whole(a, "seed"),
                              .device = cli_device(c),
                              .threads = cli_threads(c)};
}

/* All ranks but the first: they do their part, and leave what is said and written to that one, and when to
 * stop. */
static int train_along(const call *c, const jf_recipe *r, const char *folder) {
    jf_train_options options = train_options(c, folder);
    jf_model *m = NULL;
    stop_ignore();
    jf_status status = jf_train(&m, c->ctx, r, &options);
    int code = status == JF_OK ? CLI_OK : status == JF_STOPPED ? CLI_STOPPED : cli_fail_library(c);
    if (code == CLI_OK && !option_given(c->arguments, "no-report")) code = judge_and_report(c, m, folder, 1);
    jf_model_free(m);
    return code;
}

static int train_into(const call *c, const jf_recipe *r, const char *folder) {
    const arguments *a = c->arguments;
    int quiet = option_given(a, "quiet");
    const char *batch = jf_recipe_get(r, "train.batch");
    const volatile int *stop = stop_on_signals();
    progress line;
    watched watching = {.line = &line};
    progress_begin(&line, quiet, batch ? atoi(batch) : 0, stop);
    jf_context_set_log(c->ctx, progress_note, &line);
    jf_train_options options = train_options(c, folder);
    jf_model *m = NULL;
    const char *what = table_of(c) ? table_of(c) : argument(a, 0);
    int watchable = watched_begin(c, &watching, what);
    if (watchable != CLI_OK) {
        watched_end(&watching);
        return watchable;
    }
    if (!quiet) printf("%s %s into %s\n", options.resume ? "continuing" : "training", what, folder);
    jf_context_set_progress(c->ctx, show_progress, &watching);
    jf_status status = jf_train(&m, c->ctx, r, &options);
    jf_context_set_progress(c->ctx, NULL, NULL);
    progress_end(&line);
    watched_end(&watching);
    stop_end(); /* the model is saved: nothing is lost from here on */
    int code = status == JF_OK        ? CLI_OK
               : status != JF_STOPPED ? cli_fail_library(c)
               : m                    ? say_stopped(c, folder)
                                      : say_not_begun();
    if (code == CLI_OK && !option_given(a, "no-report")) code = judge_and_report(c, m, folder, quiet);
    if (code == CLI_OK && !quiet) {
        printf("model:   %s/model.safetensors\n", folder);
        code = cli_say_example(c, m, "samples: ", folder);
    }
    jf_model_free(m);
    return code;
}

static int train(const call *c) {
    const char *recipe = argument(c->arguments, 0), *given = option_text(c->arguments, "output");
    const char *table = table_of(c);
    jf_recipe *r = NULL;
    int code = check_table(c);
    if (code == CLI_OK) code = cli_join_ranks(c);
    if (code != CLI_OK) return code;
    int first = cli_is_first_rank(c);
    char *folder = given ? cli_join("%s", given) : default_folder(table ? table : recipe);
    if (!folder) return cli_fail_memory();
    code = table ? recipe_for_table(c, &r) : cli_load_recipe(c, &r, recipe);
    if (code == CLI_OK && first) code = check_folder(c, folder);
    if (code == CLI_OK && first && !option_given(c->arguments, "resume"))
        code = output_check_run(c, r, folder);
    if (code == CLI_OK) code = (first ? train_into : train_along)(c, r, folder);
    jf_recipe_free(r);
    free(folder);
    return code;
}

static const option options[] = {
    {"output", 'o', OPTION_TEXT, "RUN", NULL, 0, 0, "the run folder, by default out/ and the recipe's name"},
    {"x", 0, OPTION_TEXT, "FILE", NULL, 0, 0,
     "a table without a recipe: the answers x, a .csv, .tsv, .txt or .npy file with one example a "
     "row"},
    {"y", 0, OPTION_TEXT, "FILE", NULL, 0, 0, "the conditions y, row by row beside x"},
    {"x-columns", 0, OPTION_TEXT, "NAMES", NULL, 0, 0,
     "which columns are x, by name or number from 1, separated by commas; by default all of the file"},
    {"y-columns", 0, OPTION_TEXT, "NAMES", NULL, 0, 0, "the same of y, in the file of --y or in that of x"},
    {"discrete", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "a table without a recipe: y is one column and a class, which is found without this where it is text, "
     "or "
     "whole numbers, more than two and at most 20 different ones, each in five rows or more"},
    {"ordered", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "a table without a recipe: y is one number although it looks like a class, or with --discrete the "
     "number "
     "of its class; by default each of more than two classes has a column of zeros and ones"},
    {"bounds", 0, OPTION_LIST, "LIST", NULL, 0, 0,
     "a table without a recipe: where columns can be, and samples will be: a=0:1, a=cut:0:1, a=uniform:0:1, "
     "b=0:, "
     "c=:5, d=circle:0:6.2832, e=whole, e=whole:0:10, f=none, x=-3:3 for all of x; auto, the default: "
     "intervals "
     "that x "
     "fills evenly are found, none: they are not; may be repeated"},
    {"missing", 0, OPTION_TEXT, "drop|refuse", NULL, 0, 0,
     "a table without a recipe: rows in which a value of x or y is missing are left out and counted (drop, "
     "the "
     "default), or the first of them is an error (refuse)"},
    OPTION_SET,
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_DEVICE,
    OPTION_PRECISION(""),
    OPTION_RANKS,
    {"deterministic", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "take steps in slices that 1, 2, 4 or 8 ranks share: the same bits for each of these numbers"},
    {"resume", 0, OPTION_FLAG, NULL, NULL, 0, 0, "continue the run in the folder exactly where it stopped"},
    {"changed-data", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "with --resume: go on although the data have changed since; the epoch begins again with the new ones"},
    {"force", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "start again although the folder holds a run, which is kept in RUN/old-run until this one has finished"},
    {"no-report", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "do not judge the model and draw its pictures at the end"},
    {"quiet", 'q', OPTION_FLAG, NULL, NULL, 0, 0, "say nothing but warnings, unless it fails"},
    {"watch", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "serve a page for the browser meanwhile: loss, latent histograms and samples as they come"},
    {"port", 0, OPTION_WHOLE, "N", "0", 0, 65535, "with --watch: the port to listen on; 0: any that is free"},
    {0},
};

static const example examples[] = {
    {"A first model", "jointflow train crescents"},
    {"Smaller networks, another seed, a folder of its own",
     "jointflow train crescents --set model.width=32 --set model.depth=4 --seed 7 -o out/small"},
    {"Two files of your own, and no recipe", "jointflow train --x theta.npy --y obs.npy -o out/mine"},
    {"Columns of one file, by their names",
     "jointflow train data.csv --x-columns height,weight --y-columns age,dose -o out/mine"},
    {"Watched in the browser", "jointflow train crescents --watch"},
    {"Go on after Ctrl-C", "jointflow train crescents --resume"},
    {"Four processes that share every batch", "mpirun -n 4 jointflow train crescents"},
    {0},
};

const command command_train = {
    .name = "train",
    .summary = "learn a model from a recipe, or from a table alone",
    .arguments = "[RECIPE]",
    .about =
        "Trains the model that RECIPE describes, a file or the name of a recipe that came with the "
        "program, and keeps it in a run folder together with its recipe, its history and a report.\n"
        "A table needs no recipe: --x and --y name two files, or a .csv, .tsv, .txt or .npy file stands in "
        "the "
        "place of RECIPE and --x-columns and --y-columns say what is what. Columns that are neither x nor y "
        "may "
        "hold text. Rows with a missing value (an empty field, NA, NaN, null, ?) are left out and counted "
        "(--missing); true and false are 1 and 0. Fields are separated by tabs in .tsv files, otherwise by "
        "what "
        "the first line has: semicolons, commas, tabs or spaces. A share of the rows is held out, and "
        "sizes, "
        "law, epochs and regularisation follow from the dimensions and the number of rows; the recipe that "
        "was made is RUN/recipe.ini, and --set changes it. Arrays (.npy) stay in their files, which may be "
        "larger than memory and must not change meanwhile; one of y with further axes is of series (rows, "
        "steps, "
        "channels) or images (rows, h, w[, channels]), of which a network that is trained along makes a few "
        "numbers (model.embed). Samples never leave the bounds of --bounds, and "
        "densities are in your units: a bounded column is learned by its logit, one that fills its bounds "
        "evenly as it is, with samples beyond drawn again (cut:) or by its normal quantile (uniform:), one "
        "bounded on a side by its logarithm, a circular one is "
        "wrapped, whole numbers are dequantised and rounded back. With auto "
        "among "
        "them, or without --bounds, columns of x that end abruptly on both sides, as those of a uniform "
        "prior, "
        "get the bounds that they show; which ones is said.\n"
        "Ctrl-C stops after the current batch and saves; --resume then continues as if nothing had "
        "happened. Another one, a second or more later, ends at once. The same recipe, seed and kind of "
        "device give the same model, whatever the number of threads.\n"
        "Started by mpirun or srun, the processes (ranks) share every batch: each makes and evaluates its "
        "own "
        "rows, and the gradients are added up. Rank 0 alone says and writes something, and a run may be "
        "resumed "
        "with another number of ranks. Results depend on that number by rounding alone, with --deterministic "
        "not "
        "at all, which takes a little longer. Without --threads the ranks of a machine share its processors. "
        "A "
        "rank that dies or gives no sign of life for --rank-limit seconds ends all of them; the last "
        "checkpoint "
        "is whole.\n"
        "--watch serves a page on this machine alone while it trains, at the address that is printed: the "
        "terms "
        "of the loss, the held-out loss, latent histograms and samples, drawn at the ends of epochs and in "
        "at "
        "most a twentieth of the time. The model is the same with and without.\n"
        "On devices that have a choice, --precision says what the products of the networks are computed in "
        "while training; sums, weights and all that is measured are in fp32 whatever it is, and so is "
        "every later use of the model.\n"
        "Resuming compares the data with those that the run had, by a checksum of all their values, and "
        "refuses others; --changed-data goes on with them. On another device a run goes on, too, with other "
        "roundings, which a warning says.\n"
        "A run folder is locked while it is written to: a second training into it is refused and told "
        "which process holds it. The lock ends with its process, however that ends. On file systems "
        "that have no locks training goes on and says so.",
    .options = options,
    .examples = examples,
    .run = train,
};
