/* jointflow data: the data sets that are known by name: which there are, whether they are right, fetching
 * them. */
#include "cli.h"
#include "nearest.h"
#include "stop.h"
#include "tables.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- progress of fetching ---- */

/* On a terminal one line that is rewritten in place, elsewhere a line when a file begins. */
typedef struct fetch_line {
    int quiet, terminal, open; /* open: the cursor is in a line that will be rewritten */
    double shown_at;
    char file[64];            /* that was shown last */
    const volatile int *stop; /* non-zero: a stop was asked for */
} fetch_line;

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void show_fetching(fetch_line *line, const char *file, uint64_t bytes, uint64_t total) {
    int is_new = strcmp(file, line->file) != 0;
    double now = now_seconds();
    if (line->quiet || (!is_new && (!line->terminal || now - line->shown_at < 0.1))) return;
    snprintf(line->file, sizeof line->file, "%s", file);
    line->shown_at = now;
    if (!line->terminal)
        printf("fetching %s\n", file);
    else if (total)
        printf("\rfetching %s: %.1f of %.1f MB\033[K", file, (double)bytes / 1e6, (double)total / 1e6);
    else
        printf("\rfetching %s: %.1f MB\033[K", file, (double)bytes / 1e6);
    line->open = line->terminal;
    fflush(stdout);
}

static int on_progress(void *user, const jf_progress *now) {
    fetch_line *line = user;
    show_fetching(line, now->phase, now->done, now->total);
    return *line->stop;
}

static void close_line(fetch_line *line) {
    if (line->open) printf("\r\033[K");
    line->open = 0;
    fflush(stdout); /* before anything is said on standard error */
}

static void note(void *user, const char *text) {
    close_line(user);
    fprintf(stderr, "jointflow: note: %s\n", text);
}

/* ---- what it can do ---- */

static int list(const call *c) {
    char *lines;
    if (jf_data_list(&lines, c->ctx) != JF_OK) return cli_fail_library(c);
    fputs(lines, stdout);
    jf_text_free(lines);
    return CLI_OK;
}

static int check(const call *c) {
    char *lines;
    size_t bad;
    if (jf_data_check(&lines, c->ctx, argument(c->arguments, 1), &bad) != JF_OK) return cli_fail_library(c);
    fputs(lines, stdout);
    jf_text_free(lines);
    return bad ? CLI_FAILED : CLI_OK;
}

/* The mirrors of the command line, yours to free(); NULL: no memory. */
static const char **mirrors_of(const call *c, size_t *count) {
    *count = 0;
    while (option_item(c->arguments, "mirror", (int)*count)) ++*count;
    const char **mirrors = calloc(*count + 1, sizeof *mirrors);
    for (size_t i = 0; mirrors && i < *count; i++) mirrors[i] = option_item(c->arguments, "mirror", (int)i);
    return mirrors;
}

static int fetch(const call *c) {
    const arguments *a = c->arguments;
    fetch_line line = {.quiet = option_given(a, "quiet"), .terminal = isatty(STDOUT_FILENO)};
    jf_fetch_options options = {.size = sizeof(jf_fetch_options), .folder = option_text(a, "folder")};
    const char **mirrors = mirrors_of(c, &options.mirror_count);
    if (!mirrors) return cli_fail_memory();
    options.mirrors = mirrors;
    line.stop = stop_on_signals();
    jf_context_set_progress(c->ctx, on_progress, &line);
    jf_context_set_log(c->ctx, note, &line);
    char *lines;
    jf_status status = jf_data_fetch(&lines, c->ctx, argument(a, 1), &options);
    stop_end();
    jf_context_set_progress(c->ctx, NULL, NULL);
    close_line(&line);
    free(mirrors);
    if (status == JF_STOPPED) {
        fprintf(stderr, "jointflow: stopped; the same command goes on from here\n");
        return CLI_STOPPED;
    }
    if (status != JF_OK) return cli_fail_library(c);
    if (!line.quiet) fputs(lines, stdout);
    jf_text_free(lines);
    return CLI_OK;
}

/* ---- sets that draw their points ---- */

static jf_export_options export_options(const call *c) {
    const arguments *a = c->arguments;
    return (jf_export_options){.size = sizeof(jf_export_options),
                               .rows = (long)option_whole(a, "count"),
                               .seed = option_whole(a, "seed"),
                               .file = option_text(a, "output"),
                               .x_file = option_text(a, "x"),
                               .y_file = option_text(a, "y")};
}

static int export_set(const call *c) {
    const arguments *a = c->arguments;
    jf_export_options o = export_options(c);
    const char *paths[] = {o.file, o.x_file, o.y_file};
    int code = CLI_OK;
    if (!o.file && !o.x_file && !o.y_file)
        return cli_misuse(c->command, "export: where to? Expected -o FILE, or --x FILE and --y FILE");
    for (int i = 0; i < 3 && code == CLI_OK; i++) code = tables_check_output(c, paths[i], ".csv .npy");
    if (code == CLI_OK && jf_data_export(c->ctx, argument(a, 1), &o) != JF_OK) code = cli_fail_library(c);
    return code;
}

/* --y FILE: rows of conditions. */
static int posterior(const call *c) {
    const arguments *a = c->arguments;
    jf_export_options o = export_options(c);
    jf_table y;
    if (!o.y_file || !o.file)
        return cli_misuse(c->command, "posterior: expected --y FILE with rows of y, and -o FILE");
    int code = tables_check_output(c, o.file, ".csv .npy");
    if (code != CLI_OK) return code;
    if (jf_table_read(&y, c->ctx, o.y_file) != JF_OK) return cli_fail_library(c);
    if (jf_data_posterior(c->ctx, argument(a, 1), y.rows, y.columns, y.values, &o) != JF_OK)
        code = cli_fail_library(c);
    jf_table_free(&y);
    return code;
}

typedef struct verb {
    const char *name;
    const char *argument; /* NULL: it takes none */
    const char *options;  /* that it takes, each followed by a blank */
    int (*run)(const call *c);
} verb;

static const verb verbs[] = {
    {"list", NULL, "", list},
    {"check", "FOLDER", "", check},
    {"fetch", "NAME", "folder mirror quiet ", fetch},
    {"export", "SET", "count seed output x y ", export_set},
    {"posterior", "SET", "count seed output y ", posterior},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static int takes(const verb *v, const char *name) {
    char word[32];
    snprintf(word, sizeof word, "%s ", name);
    const char *at = strstr(v->options, word);
    return at && (at == v->options || at[-1] == ' ');
}

static int run_verb(const call *c, const verb *v) {
    const char *given = argument(c->arguments, 1);
    if (v->argument && !given) return cli_misuse(c->command, "%s: %s is missing", v->name, v->argument);
    if (!v->argument && given)
        return cli_misuse(c->command, "%s: unexpected argument \"%s\"", v->name, given);
    for (int i = 0; i < c->arguments->given_count; i++)
        if (!takes(v, c->arguments->given[i].option->name))
            return cli_misuse(c->command, "%s: takes no option --%s", v->name,
                              c->arguments->given[i].option->name);
    return v->run(c);
}

static int data(const call *c) {
    const char *name = argument(c->arguments, 0);
    nearest near = nearest_begin(name);
    for (int i = 0; i < VERBS; i++) {
        if (strcmp(verbs[i].name, name) == 0) return run_verb(c, &verbs[i]);
        nearest_try(&near, verbs[i].name);
    }
    if (near.best) return cli_misuse(c->command, "found \"%s\"; did you mean \"%s\"?", name, near.best);
    return cli_misuse(c->command, "found \"%s\", expected list, check, fetch, export or posterior", name);
}

static const option options[] = {
    {"folder", 0, OPTION_TEXT, "FOLDER", NULL, 0, 0,
     "fetch: where the set gets a folder of its own, by default where recipes look for data"},
    {"mirror", 0, OPTION_LIST, "URL", NULL, 0, 0,
     "fetch: a folder on the net (http, https, file) to fetch from instead; may be repeated"},
    {"quiet", 'q', OPTION_FLAG, NULL, NULL, 0, 0, "fetch: say nothing unless it fails"},
    {"count", 'n', OPTION_WHOLE, "N", "10000", 1, 100000000,
     "export: rows; posterior: samples for each row of y"},
    {"output", 'o', OPTION_TEXT, "FILE", NULL, 0, 0, "export, posterior: a .csv or .npy file, x and then y"},
    {"x", 0, OPTION_TEXT, "FILE", NULL, 0, 0, "export: x alone"},
    {"y", 0, OPTION_TEXT, "FILE", NULL, 0, 0, "export: y alone; posterior: the rows of y to answer, a table"},
    OPTION_SEED,
    {0},
};

static const example examples[] = {
    {"Which sets there are, and which are here", "jointflow data list"},
    {"Fetch one to where recipes find it", "jointflow data fetch fashion-mnist"},
    {"Fetch from a mirror of your own into a folder of your own",
     "jointflow data fetch mnist --folder data --mirror https://mirror.example/mnist/"},
    {"10,000 simulations of a problem with a known answer",
     "jointflow data export two_moons -n 10000 --x theta.npy --y obs.npy"},
    {"Its exact answers to some observations",
     "jointflow data posterior two_moons --y obs.csv -n 10000 -o exact.csv"},
    {"Are these files as they were published?", "jointflow data check data"},
    {0},
};

const command command_data = {
    .name = "data",
    .summary = "list, check or fetch known data sets; export drawn ones",
    .arguments = "list|check|fetch|export|posterior [FOLDER|NAME|SET]",
    .about =
        "list shows the data sets that are known by name, where they were found, their size and licence.\n"
        "check FOLDER compares the files of known sets in FOLDER, or in the folders of it that are named "
        "like "
        "sets, with what was published, one line per file; raw or compressed (.gz) makes no difference. The "
        "exit "
        "status is 1 if one is missing or wrong.\n"
        "fetch NAME fetches a set. Files that are here and right are left alone, a wrong one is replaced "
        "when "
        "the new one was found right, and what was interrupted goes on where it stopped. The set goes to "
        "NAME "
        "below the folder; that is by default $XDG_DATA_HOME/jointflow or, without that variable, "
        "~/.local/share/jointflow.\n"
        "export SET writes rows of a set that draws its points: toys, and inverse problems with known "
        "answers "
        "(two_moons, gaussian_mixture, slcp, gaussian_linear, linear_uniform, inverse_kinematics, "
        "oscillator). "
        "posterior SET "
        "draws from their exact posteriors, where these are known, for each row of y.",
    .options = options,
    .examples = examples,
    .run = data,
};
