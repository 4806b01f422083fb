/* jointflow sweep: many runs of a recipe, and which setting is best. */
#include "cli.h"
#include "outputs.h"
#include "progress.h"
#include "stop.h"
#include "sweep/deal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sweep {
    const call *c;
    sweep_plan plan;
    const char *folder;
    const volatile int *stop;
    sweep_deal deal;
} sweep;

/* ---- which runs ---- */

static int read_plan(const call *c, sweep_plan *out) {
    const char *texts[256], *item;
    char why[512];
    int count = 0;
    for (; (item = option_item(c->arguments, "set", count)) != NULL && count < 256; count++)
        texts[count] = item;
    if (item) return cli_misuse(c->command, "more than 256 keys");
    if (!sweep_plan_create(out, texts, count, option_int(c->arguments, "seeds"),
                           option_whole(c->arguments, "seed"), why, sizeof why))
        return cli_misuse(c->command, "%s", why);
    return CLI_OK;
}

/* ---- the recipe that they share ---- */

/* The recipe of a setting; text may be NULL. */
static int make_recipe(const call *c, const sweep_plan *p, int setting, int only_constant, jf_recipe **out,
                       char **text) {
    *out = NULL;
    if (text) *text = NULL;
    int code = jf_recipe_load(out, c->ctx, argument(c->arguments, 0)) == JF_OK ? CLI_OK : cli_fail_library(c);
    for (int i = 0; i < p->axis_count && code == CLI_OK; i++) {
        if (only_constant && p->axes[i].count > 1) continue;
        if (jf_recipe_set(*out, p->axes[i].key, sweep_plan_value(p, setting, i)) != JF_OK)
            code = cli_fail_library(c);
    }
    if (code == CLI_OK && text && jf_recipe_text(text, *out, 0) != JF_OK) code = cli_fail_library(c);
    return code;
}

/* All settings, before hours are spent on the first: their text is only there where they mean something. */
static int check_settings(const call *c, const sweep_plan *p) {
    int code = CLI_OK;
    for (int i = 0; i < p->settings && code == CLI_OK; i++) {
        jf_recipe *r;
        char *text;
        code = make_recipe(c, p, i, 0, &r, &text);
        jf_text_free(text);
        jf_recipe_free(r);
    }
    return code;
}

static char *read_text(const char *path) {
    FILE *in = cli_open(path);
    char *text = NULL;
    long size;
    if (!in) return NULL;
    if (fseek(in, 0, SEEK_END) == 0 && (size = ftell(in)) >= 0 && fseek(in, 0, SEEK_SET) == 0) {
        text = calloc((size_t)size + 1, 1);
        if (text && fread(text, 1, (size_t)size, in) != (size_t)size) text[0] = '\0';
    }
    fclose(in);
    return text;
}

/* Results of another recipe must not stand in one table with these: what does not vary is kept in the folder.
 */
static int claim_folder(const call *c, const sweep_plan *p, const char *folder) {
    jf_recipe *r = NULL;
    char *text = NULL, *path = cli_join("%s/sweep.ini", folder), *there = path ? read_text(path) : NULL;
    int code = path ? make_recipe(c, p, 0, 1, &r, &text) : cli_fail_memory();
    if (code == CLI_OK && there && strcmp(there, text) != 0)
        code = cli_fail("%s: holds a sweep of another recipe (sweep.ini); choose another folder with -o",
                        folder);
    if (code == CLI_OK && !there) code = output_replace_file(path, text);
    jf_text_free(text);
    jf_recipe_free(r);
    free(there);
    free(path);
    return code;
}

/* Ranks that were started with something else would train something else. */
static int compare_ranks(const call *c, const sweep_plan *p) {
    char *all = cli_join("%d seeds from %llu\n", p->seeds, (unsigned long long)p->first_seed), *text = NULL;
    jf_recipe *r = NULL;
    int code = all ? CLI_OK : cli_fail_memory();
    if (jf_ranks_size(c->ctx) == 1) goto done;
    for (int i = 0; i < p->settings && code == CLI_OK; i++) {
        char *words = sweep_plan_words(p, i), *longer = words ? cli_join("%s%s\n", all, words) : NULL;
        if (!longer) code = cli_fail_memory();
        free(words);
        free(all);
        all = longer;
    }
    if (code == CLI_OK) code = make_recipe(c, p, 0, 1, &r, &text);
    if (code == CLI_OK && (jf_ranks_same(c->ctx, "recipe", text) != JF_OK ||
                           jf_ranks_same(c->ctx, "choice of settings and seeds", all) != JF_OK))
        code = cli_fail_library(c);
done:
    jf_text_free(text);
    jf_recipe_free(r);
    free(all);
    return code;
}

/* ---- one run ---- */

static int has_checkpoint(const char *folder) {
    static const char *const names[] = {"checkpoint.safetensors", "checkpoint-previous.safetensors"};
    int found = 0;
    for (int i = 0; i < 2 && !found; i++) {
        char *path = cli_join("%s/%s", folder, names[i]);
        found = path && cli_is_file(path);
        free(path);
    }
    return found;
}

typedef struct noted {
    progress *line;
    const char *folder; /* NULL: it is clear whose notes they are */
} noted;

/* What several ranks warn of is told with the run. */
static void note(void *user, const char *line) {
    const noted *n = user;
    int warning = strncmp(line, JF_WARNING, strlen(JF_WARNING)) == 0;
    if (warning && n->folder)
        fprintf(stderr, "jointflow: %s: %s\n", n->folder, line);
    else
        progress_note(n->line, line);
}

static jf_status train(sweep *s, const jf_recipe *r, const char *folder, int seed) {
    const call *c = s->c;
    const char *batch = jf_recipe_get(r, "train.batch");
    progress line;
    noted notes = {.line = &line, .folder = s->deal.ranks > 1 ? folder : NULL};
    progress_begin(&line, option_given(c->arguments, "quiet") || s->deal.rank > 0, batch ? atoi(batch) : 0,
                   s->stop);
    jf_context_set_log(c->ctx, note, &notes);
    jf_context_set_progress(c->ctx, progress_show, &line);
    jf_train_options options = {.size = sizeof(jf_train_options),
                                .folder = folder,
                                .resume = has_checkpoint(folder),
                                .seed = s->plan.first_seed + (uint64_t)seed,
                                .device = cli_device(c),
                                .threads = cli_threads(c)};
    jf_model *m = NULL;
    jf_status status = jf_train(&m, c->ctx, r, &options);
    jf_context_set_progress(c->ctx, NULL, NULL);
    progress_end(&line);
    jf_context_set_log(c->ctx, NULL, NULL);
    jf_model_free(m);
    return status;
}

static int tell_failure(const sweep *s, const char *folder) {
    const char *why = jf_context_error(s->c->ctx);
    if (s->deal.ranks > 1) return cli_fail("rank %d: %s: %s", s->deal.rank, folder, why);
    return cli_fail("%s: %s", folder, why);
}

/* Returns an exit status. */
static int run_one(sweep *s, int run, const char *folder) {
    const sweep_plan *p = &s->plan;
    int setting = run / p->seeds, seed = run % p->seeds;
    sweep_result *result = &s->deal.results[run];
    jf_recipe *r;
    int code = make_recipe(s->c, p, setting, 0, &r, NULL);
    if (code == CLI_OK) {
        jf_status status = train(s, r, folder, seed);
        if (status == JF_STOPPED)
            code = CLI_STOPPED;
        else if (status != JF_OK)
            code = tell_failure(s, folder);
        else if (sweep_result_of_history(folder, result))
            code = sweep_result_write(folder, result);
        else
            code = cli_fail("%s/history.csv: holds no epoch", folder);
    }
    jf_recipe_free(r);
    return code;
}

static int say_run(const sweep *s, int run) {
    char *words = sweep_plan_words(&s->plan, run / s->plan.seeds);
    if (!words) return cli_fail_memory();
    printf("run %d of %d: %s, seed %llu\n", run + 1, sweep_plan_runs(&s->plan), words,
           (unsigned long long)(s->plan.first_seed + (uint64_t)(run % s->plan.seeds)));
    fflush(stdout);
    free(words);
    return CLI_OK;
}

/* ---- all of them ---- */

/* A run that another process has done since is not trained again. */
static int visit(sweep *s, int run) {
    char *folder = sweep_deal_folder(&s->deal, run);
    int code = folder ? CLI_OK : cli_fail_memory();
    if (folder && !sweep_result_read(folder, &s->deal.results[run])) {
        code = output_check_below(s->folder, folder);
        if (code == CLI_OK && !option_given(s->c->arguments, "quiet")) code = say_run(s, run);
        if (code == CLI_OK) code = run_one(s, run, folder);
    }
    free(folder);
    return code;
}

/* A training that fails is a result, too: the others go on. */
static int visit_all(sweep *s) {
    sweep_deal *d = &s->deal;
    int run;
    while (!d->stopped) {
        int code = sweep_deal_next(d, &run);
        if (code != CLI_OK || run < 0) return code;
        code = *s->stop ? CLI_STOPPED : visit(s, run);
        d->stopped = code == CLI_STOPPED;
        d->failed += code != CLI_OK && code != CLI_STOPPED;
    }
    return CLI_OK;
}

static int count_done(const sweep *s) {
    int done = 0;
    for (int i = 0; i < sweep_plan_runs(&s->plan); i++) done += s->deal.results[i].done;
    return done;
}

/* What there is, also after a stop. */
static int tell(const sweep *s) {
    const sweep_deal *d = &s->deal;
    int runs = sweep_plan_runs(&s->plan), done = count_done(s), code = sweep_print(&s->plan, d->results);
    if (code == CLI_OK && done > 0) code = sweep_write(s->c, &s->plan, d->results, s->folder);
    if (code == CLI_OK && done > 0)
        printf("table: %s/sweep.csv, picture: %s/sweep.png\n", s->folder, s->folder);
    if (d->stopped) {
        fprintf(stderr, "jointflow: stopped, %d of %d runs are done; the same command goes on from here\n",
                done, runs);
        return CLI_STOPPED;
    }
    if (d->failed > 0) return cli_fail("%d run%s gave no result", d->failed, d->failed == 1 ? "" : "s");
    if (done < runs)
        printf("%d of %d runs are done; the others are those of other parts, or still to come.\n", done,
               runs);
    return code;
}

static char *default_folder(const char *recipe) {
    const char *slash = strrchr(recipe, '/'), *name = slash ? slash + 1 : recipe;
    size_t length = strlen(name) - (cli_ends_with(name, ".ini") ? 4 : 0);
    return cli_join("out/sweep-%.*s", (int)length, name);
}

static void say_ranks(const sweep *s) {
    if (s->deal.ranks > 1 && !option_given(s->c->arguments, "quiet"))
        printf("%d ranks share %d runs\n", s->deal.ranks, s->deal.count);
    fflush(stdout);
}

/* Rank 0 tells what came of it, and has the exit status. */
static int run_all(sweep *s, sweep_part part) {
    sweep_deal *d = &s->deal;
    int code = sweep_deal_begin(d, s->c, &s->plan, part, s->folder, option_given(s->c->arguments, "show"));
    if (code == CLI_OK) {
        say_ranks(s);
        s->stop = stop_on_signals();
        code = visit_all(s);
        if (code == CLI_OK) code = sweep_deal_end(d);
        stop_end();
    }
    if (code == CLI_OK && d->rank == 0) code = tell(s);
    sweep_deal_free(d);
    return code;
}

static int prepare_folder(const call *c, const sweep_plan *p, const char *folder) {
    int code = output_check_folder(folder);
    if (code == CLI_OK) code = output_make_folder(folder);
    return code == CLI_OK ? claim_folder(c, p, folder) : code;
}

static int sweep_run(const call *c) {
    const char *given = option_text(c->arguments, "output");
    sweep s = {.c = c};
    sweep_part part;
    char *folder = given ? cli_join("%s", given) : default_folder(argument(c->arguments, 0));
    int code = folder ? read_plan(c, &s.plan) : cli_fail_memory();
    s.folder = folder;
    if (code == CLI_OK) code = sweep_part_read(c, &part);
    if (code == CLI_OK) code = cli_join_ranks(c);
    if (code == CLI_OK) code = check_settings(c, &s.plan);
    if (code == CLI_OK) code = compare_ranks(c, &s.plan);
    if (code == CLI_OK && cli_is_first_rank(c)) code = prepare_folder(c, &s.plan, folder);
    if (code == CLI_OK) code = run_all(&s, part);
    sweep_plan_free(&s.plan);
    free(folder);
    return code;
}

static const option options[] = {
    {"set", 0, OPTION_LIST, "KEY=VALUES", NULL, 0, 0,
     "values of the recipe to try, such as train.rate=1e-4,3e-4; values that hold commas stand in "
     "parentheses; "
     "all combinations are run; may be repeated"},
    {"seeds", 0, OPTION_WHOLE, "N", "1", 1, 1000, "runs of each setting, with seeds that follow each other"},
    {"seed", 0, OPTION_WHOLE, "N", "0", 0, UINT64_MAX / 2, "the first seed"},
    {"output", 'o', OPTION_TEXT, "FOLDER", NULL, 0, 0,
     "where all runs and the table go, by default out/sweep- and the recipe's name"},
    {"part", 0, OPTION_TEXT, "I/N", NULL, 0, 0,
     "train every N-th run only, from the I-th on; by default the place in a job array of SLURM, or all"},
    {"show", 0, OPTION_FLAG, NULL, NULL, 0, 0, "train nothing, show what there is"},
    OPTION_THREADS,
    OPTION_DEVICE,
    OPTION_RANKS,
    {"quiet", 'q', OPTION_FLAG, NULL, NULL, 0, 0, "no progress, only the table"},
    {0},
};

static const example examples[] = {
    {"Three rates, three seeds each", "jointflow sweep crescents --set train.rate=1e-4,3e-4,1e-3 --seeds 3"},
    {"Two sizes of networks by two laws",
     "jointflow sweep sectors --set model.width=32,64 --set model.law=affine,spline"},
    {"On two machines that share a folder, the first",
     "jointflow sweep mine.ini --set train.rate=1e-4,1e-3 -o shared/rates --part 1/2"},
    {"Four processes, of which each takes the next run",
     "mpirun -n 4 jointflow sweep crescents --set train.rate=1e-4,1e-3 --seeds 3"},
    {"As a job array of SLURM, whose script is such a command", "sbatch --array=1-9 rates.sh"},
    {"What has come of it so far",
     "jointflow sweep crescents --set train.rate=1e-4,3e-4,1e-3 --seeds 3 --show"},
    {0},
};

const command command_sweep = {
    .name = "sweep",
    .summary = "many runs of a recipe, and which setting is best",
    .arguments = "RECIPE",
    .about = "Trains RECIPE with every combination of the values that --set names, and with several seeds "
             "each, into "
             "folders of their own; then prints the settings from the best one on, with the spread over "
             "their seeds, and writes "
             "sweep.csv and a picture, sweep.png.\n"
             "Compared is the loss that a run ended with at its best epoch: that of held-out rows, where the "
             "recipe holds any "
             "out, otherwise that of training. Settings that change the loss itself (loss.lambda, "
             "train.noise) cannot be "
             "compared by it.\n"
             "The same command again goes on: runs that are done are not trained again, one that was stopped "
             "is resumed, and "
             "more values or seeds are added to what is there. Runs can be dealt out over processes and "
             "machines that "
             "share the folder with --part, or as a job array.\n"
             "Started by mpirun or srun, the processes (ranks) take one run after the other, each by itself, "
             "whoever has "
             "time; with --part those of that part. The folder is one that all of them see. Rank 0 shows how "
             "its own runs go on, and the table at the end; a run that fails is told with its rank, and the "
             "others go on. "
             "Without --threads the ranks of a machine share its processors, with --device cuda each takes a "
             "GPU of its own.",
    .options = options,
    .examples = examples,
    .run = sweep_run,
};
