/* Long use of the library by one process: trains, stops, resumes, loads, samples, tells densities, judges and
 * reports on small models, again and again, and watches what the process holds between two rounds.
 *
 *     jointflow-soak MINUTES
 *
 * Prints memory and open files over time. Fails where they grow, where a round fails, and where a round gives
 * other samples than the first. */
#define _GNU_SOURCE /* nftw */
#include "jointflow/jointflow.h"

#include <dirent.h>
#include <ftw.h>
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 500, POINTS = 40, LINES = 20 /* of the table */, IMAGES = 20, REPORT_EVERY = 5 };

static const struct {
    const char *name, *recipe;
} models[] = {
    {"toy",
     ("[data]\nset = crescents\n[model]\nblocks = 1\ndepth = 1\nwidth = 16\n"
      "[train]\nbatch = 100\nbatches = 5\nprecondition = 1\nanneal = 1\nepochs = 4\ncheckpoint = 0\n")},
    {"image",
     ("[data]\nset = images\nimages = glyphs\nclasses = ring square\nlimit = 40\n"
      "[model]\nnet = resnext\nblocks = 1\nkernels = 4\ncardinality = 2\nresidual = 1\nnorm = channel\n"
      "[train]\nnoise = 0.02\nbatch = 10\nprecondition = 0\nanneal = 0\nepochs = 3\nvalidation = "
      "20\ncheckpoint = 0\n")},
};
enum { MODELS = sizeof models / sizeof *models };

/* ---- what the process holds ---- */

typedef struct holdings {
    double seconds;
    long rounds, resident, heap, files; /* KiB, KiB, descriptors */
} holdings;

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long resident_kib(void) {
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static long open_files(void) {
    long count = 0;
    DIR *entries = opendir("/proc/self/fd");
    while (entries && readdir(entries)) count++;
    if (entries) closedir(entries);
    return count - 3; /* ".", ".." and the one that lists them */
}

static holdings look(double start, long rounds) {
    struct mallinfo2 heap = mallinfo2();
    return (holdings){.seconds = now_seconds() - start,
                      .rounds = rounds,
                      .resident = resident_kib(),
                      .heap = (long)((heap.uordblks + heap.hblkhd) / 1024),
                      .files = open_files()};
}

/* ---- a round ---- */

typedef struct round_state {
    jf_context *ctx;
    char folder[512];
    double sums[MODELS]; /* of the samples of the first round */
    long rounds;
} round_state;

static _Noreturn void fail(const round_state *r, const char *what) {
    fprintf(stderr, "jointflow-soak: %s: %s\n", what, r->ctx ? jf_context_error(r->ctx) : "");
    exit(1);
}

static void expect(const round_state *r, const char *what, jf_status found, jf_status expected) {
    if (found != expected) fail(r, what);
}

static int remove_entry(const char *name, const struct stat *status, int kind, struct FTW *where) {
    (void)status, (void)kind, (void)where;
    return remove(name);
}

static int stop_soon(void *user, const jf_progress *progress) {
    (void)user;
    return progress->training && progress->training->epoch_ended;
}

static void train(round_state *r, const jf_recipe *recipe, int resume) {
    jf_model *m = NULL;
    jf_train_options options = {
        .size = sizeof(jf_train_options), .folder = r->folder, .resume = resume, .threads = 2};
    jf_context_set_progress(r->ctx, resume ? NULL : stop_soon, NULL);
    expect(r, resume ? "resuming" : "training", jf_train(&m, r->ctx, recipe, &options),
           resume ? JF_OK : JF_STOPPED);
    jf_model_free(m);
}

/* Samples, densities of them, and their sum. */
static double use(const round_state *r, const jf_model *m) {
    size_t dim_x = (size_t)jf_model_dim_x(m), dim_y = (size_t)jf_model_dim_y(m);
    size_t n = dim_x > 100 ? IMAGES : ROWS;
    double *x = calloc(n * dim_x, sizeof *x), *y = calloc(n * dim_y, sizeof *y);
    double *log_p = calloc(n, sizeof *log_p), sum = 0;
    if (!x || !y || !log_p) fail(r, "not enough memory");
    for (size_t i = 0; i < n * dim_y; i++) y[i] = jf_model_label(m, (int)(i / dim_y) % 2);
    expect(r, "sampling", jf_sample(m, n, y, x, NULL, NULL, NULL), JF_OK);
    expect(r, "density", jf_density(m, n, x, y, log_p, NULL, NULL), JF_OK);
    for (size_t i = 0; i < n * dim_x; i++) sum += x[i];
    free(x), free(y), free(log_p);
    return sum;
}

static void judge(const round_state *r, const jf_model *m) {
    jf_judgement *j = NULL;
    expect(r, "judging",
           jf_judge(&j, m, &(jf_judge_options){.size = sizeof(jf_judge_options), .points = POINTS}), JF_OK);
    if (r->rounds % REPORT_EVERY == 0) expect(r, "reporting", jf_report(m, j, r->folder), JF_OK);
    jf_judgement_free(j);
}

static void run_model(round_state *r, int index) {
    jf_recipe *recipe = NULL;
    jf_model *m = NULL;
    if (jf_context_create(&r->ctx) != JF_OK) fail(r, "not enough memory");
    expect(r, "recipe", jf_recipe_parse(&recipe, r->ctx, models[index].recipe, models[index].name), JF_OK);
    train(r, recipe, 0);
    train(r, recipe, 1);
    expect(r, "loading", jf_model_load(&m, r->ctx, r->folder, NULL), JF_OK);
    double sum = use(r, m);
    if (r->rounds > 0 && sum != r->sums[index]) fail(r, "other samples than in the first round");
    r->sums[index] = sum;
    judge(r, m);
    jf_model_free(m);
    jf_recipe_free(recipe);
    jf_context_free(r->ctx);
    r->ctx = NULL;
    nftw(r->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- flat or not ---- */

/* What is held in the last third against the most that was held in the first, after the first of all lines:
 * caches of fonts fill up in the beginning. */
static int is_flat(const char *name, const holdings *lines, int count, size_t field, double share,
                   long slack) {
    long early = 0, late = 0;
    for (int i = 1; i < count; i++) {
        long value = *(const long *)(const void *)((const char *)&lines[i] + field);
        if (i <= count / 3 && value > early) early = value;
        if (i >= count - count / 3 && value > late) late = value;
    }
    int flat = (double)late <= (double)early * (1 + share) + (double)slack;
    printf("%-22s %ld at most in the first third, %ld in the last: %s\n", name, early, late,
           flat ? "flat" : "GROWS");
    return flat;
}

static int all_flat(const holdings *lines, int count) {
    int heap = is_flat("heap in use, KiB", lines, count, offsetof(holdings, heap), 0, 4);
    int resident = is_flat("resident memory, KiB", lines, count, offsetof(holdings, resident), 0.05, 1024);
    int files = is_flat("open files", lines, count, offsetof(holdings, files), 0, 0);
    return heap && resident && files;
}

static void show(const holdings *h) {
    printf("%9.0f %9ld %14ld %14ld %11ld\n", h->seconds, h->rounds, h->resident, h->heap, h->files);
    fflush(stdout);
}

int main(int argc, char **argv) {
    double minutes = argc == 2 ? atof(argv[1]) : 0, start = now_seconds();
    if (!(minutes > 0)) {
        fprintf(stderr, "usage: jointflow-soak MINUTES\n");
        return 2;
    }
    char parent[] = "/tmp/jointflow-soak-XXXXXX";
    round_state r = {0};
    holdings lines[LINES + 1];
    int count = 0;
    if (!mkdtemp(parent)) fail(&r, parent);
    snprintf(r.folder, sizeof r.folder, "%s/run", parent);
    printf("%9s %9s %14s %14s %11s\n", "seconds", "rounds", "resident, KiB", "heap, KiB", "open files");
    while (count <= LINES) {
        for (int i = 0; i < MODELS; i++) run_model(&r, i);
        r.rounds++;
        if (now_seconds() - start < minutes * 60 * count / LINES) continue;
        lines[count] = look(start, r.rounds);
        show(&lines[count++]);
    }
    rmdir(parent);
    return all_flat(lines, count) ? 0 : 1;
}
