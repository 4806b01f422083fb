#include "deal.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- parts ---- */

static int read_number(const char *name, int *out) {
    const char *text = getenv(name);
    char *end;
    if (!text || !*text) return 0;
    long value = strtol(text, &end, 10);
    if (*end || value < 0 || value > SWEEP_MOST) return 0;
    *out = (int)value;
    return 1;
}

int sweep_part_read(const call *c, sweep_part *out) {
    const char *text = option_text(c->arguments, "part");
    int part = 1, parts = 1, lowest = 0;
    char rest;
    if (text && sscanf(text, "%d/%d%c", &part, &parts, &rest) != 2)
        return cli_misuse(c->command, "--part: found \"%s\", expected I/N, such as 1/4", text);
    if (!text && read_number("SLURM_ARRAY_TASK_ID", &part) && read_number("SLURM_ARRAY_TASK_COUNT", &parts))
        part = part - (read_number("SLURM_ARRAY_TASK_MIN", &lowest) ? lowest : 1) + 1;
    if (parts < 1 || part < 1 || part > parts)
        return cli_misuse(c->command, "part %d of %d: expected one of 1 to %d", part, parts,
                          parts < 1 ? 1 : parts);
    *out = (sweep_part){part - 1, parts};
    return CLI_OK;
}

/* ---- results on their way between ranks ---- */

enum { DONE, LOSS, EPOCH, SECONDS, NUMBERS };

static void pack(const sweep_result *r, double to[NUMBERS]) {
    if (!r->done) return;
    to[DONE] = 1;
    to[LOSS] = r->loss;
    to[EPOCH] = (double)r->epoch;
    to[SECONDS] = r->seconds;
}

static void unpack(sweep_result *r, const double from[NUMBERS]) {
    if (from[DONE] != 1) return;
    *r = (sweep_result){
        .done = 1, .loss = from[LOSS], .epoch = (int64_t)from[EPOCH], .seconds = from[SECONDS]};
}

/* Results of runs that `is_mine` names are given to all ranks. No run is that of two. */
static int share_results(sweep_deal *d, int (*is_mine)(const sweep_deal *d, int run)) {
    int runs = sweep_plan_runs(d->plan);
    size_t count = (size_t)runs * NUMBERS + 2;
    if (d->ranks == 1) return CLI_OK;
    double *numbers = calloc(count, sizeof *numbers), *rest = numbers ? numbers + count - 2 : NULL;
    if (!numbers) return cli_fail_memory();
    for (int i = 0; i < runs; i++)
        if (is_mine(d, i)) pack(&d->results[i], numbers + (size_t)i * NUMBERS);
    rest[0] = d->failed;
    rest[1] = d->stopped;
    int code = jf_ranks_sum(d->c->ctx, numbers, count) == JF_OK ? CLI_OK : cli_fail_library(d->c);
    for (int i = 0; i < runs; i++) unpack(&d->results[i], numbers + (size_t)i * NUMBERS);
    d->failed = (int)rest[0];
    d->stopped = (int)rest[1];
    free(numbers);
    return code;
}

static int is_first_rank(const sweep_deal *d, int run) {
    (void)run;
    return d->rank == 0;
}

static int was_taken(const sweep_deal *d, int run) {
    return d->taken[run];
}

/* ---- dealing ---- */

char *sweep_deal_folder(const sweep_deal *d, int run) {
    char *below = sweep_plan_folder(d->plan, run / d->plan->seeds, run % d->plan->seeds),
         *folder = below ? cli_join("%s/%s", d->folder, below) : NULL;
    free(below);
    return folder;
}

/* Those that are not known yet. */
static int read_results(sweep_deal *d) {
    for (int i = 0; i < sweep_plan_runs(d->plan); i++) {
        if (d->results[i].done) continue;
        char *folder = sweep_deal_folder(d, i);
        if (!folder) return cli_fail_memory();
        sweep_result_read(folder, &d->results[i]);
        free(folder);
    }
    return CLI_OK;
}

/* Rank 0 alone looks what there is: others might see a folder of the network as it was. */
int sweep_deal_begin(sweep_deal *d, const call *c, const sweep_plan *p, sweep_part part, const char *folder,
                     int show) {
    size_t runs = (size_t)sweep_plan_runs(p);
    *d = (sweep_deal){.c = c,
                      .plan = p,
                      .folder = folder,
                      .results = calloc(runs, sizeof *d->results),
                      .runs = calloc(runs, sizeof *d->runs),
                      .taken = calloc(runs, 1),
                      .ranks = jf_ranks_size(c->ctx),
                      .rank = jf_ranks_rank(c->ctx)};
    int code = d->results && d->runs && d->taken ? CLI_OK : cli_fail_memory();
    if (code == CLI_OK && d->rank == 0) code = read_results(d);
    if (code == CLI_OK) code = share_results(d, is_first_rank);
    for (int i = part.first; i < (int)runs && code == CLI_OK && !show; i += part.parts)
        if (!d->results[i].done) d->runs[d->count++] = i;
    if (code == CLI_OK && jf_ranks_set_apart(c->ctx, 1) != JF_OK) code = cli_fail_library(c);
    return code;
}

int sweep_deal_next(sweep_deal *d, int *run) {
    uint64_t number = (uint64_t)d->next++;
    *run = -1;
    if (d->ranks > 1 && jf_ranks_take(d->c->ctx, &number) != JF_OK) return cli_fail_library(d->c);
    if (number >= (uint64_t)d->count) return CLI_OK;
    *run = d->runs[number];
    d->taken[*run] = 1;
    return CLI_OK;
}

int sweep_deal_end(sweep_deal *d) {
    if (jf_ranks_set_apart(d->c->ctx, 0) != JF_OK) return cli_fail_library(d->c);
    int code = share_results(d, was_taken);
    return code == CLI_OK && d->rank == 0 ? read_results(d) : code; /* other parts have gone on meanwhile */
}

void sweep_deal_free(sweep_deal *d) {
    free(d->results);
    free(d->runs);
    free(d->taken);
}
