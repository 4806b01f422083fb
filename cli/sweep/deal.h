/* Who trains which runs of a sweep: a part of them may be another process's (--part, or a job array), and
 * what is left is taken by the ranks of a launcher, one run after the other, by whoever has time. Each run is
 * one rank's alone. */
#ifndef CLI_SWEEP_DEAL_H
#define CLI_SWEEP_DEAL_H

#include "cli.h"
#include "plan.h"
#include "results.h"

/* Runs first, first + parts, ... are those of this call. */
typedef struct sweep_part {
    int first, parts;
} sweep_part;

/* --part I/N, or the place in a job array of SLURM. Returns an exit status. */
int sweep_part_read(const call *c, sweep_part *out);

typedef struct sweep_deal {
    const call *c;
    const sweep_plan *plan;
    const char *folder;
    sweep_result *results; /* (runs) */
    int *runs;             /* (count) that are to be trained */
    int count;
    char *taken; /* (runs): by this rank */
    int ranks, rank;
    int next;    /* of a process by itself */
    int failed;  /* runs that gave no result: of this rank, then of all */
    int stopped; /* whether this rank was, then how many were */
} sweep_deal;

/* Reads the results that there are; what is missing is to be trained, unless `show`. From here to the end
 * ranks work apart. Returns an exit status; to be freed in any case. */
int sweep_deal_begin(sweep_deal *d, const call *c, const sweep_plan *p, sweep_part part, const char *folder,
                     int show);
/* The next run of this rank, -1: there are none left; an exit status. */
int sweep_deal_next(sweep_deal *d, int *run);
/* All ranks have the results of all. */
int sweep_deal_end(sweep_deal *d);
void sweep_deal_free(sweep_deal *d);

/* The folder of a run; yours to free(), NULL: no memory. */
char *sweep_deal_folder(const sweep_deal *d, int run);

#endif
