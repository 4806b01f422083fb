/* Deals the runs of a sweep out to processes. With --part or a job array a process trains a fixed part of
 * them. Ranks of a launcher take the runs of a part one after the other, each when it is free. A run is
 * trained by one rank. */
#ifndef CLI_SWEEP_DEAL_H
#define CLI_SWEEP_DEAL_H

#include "cli.h"
#include "plan.h"
#include "results.h"

/* The part of a call: runs first, first + parts, first + 2 parts, ... */
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
    int *runs;             /* (count) runs without a result */
    int count;
    char *taken; /* (runs): 1 for those that this rank trains */
    int ranks, rank;
    int next;    /* without ranks: index of the next one in `runs` */
    int failed;  /* runs without a result: of this rank, at the end of all */
    int stopped; /* whether this rank was stopped, at the end how many were */
} sweep_deal;

/* Reads the results so far and lists the runs to train, none if `show`. Ranks work apart from here to
 * sweep_deal_end(). Returns an exit status; free `d` even after a failure. */
int sweep_deal_begin(sweep_deal *d, const call *c, const sweep_plan *p, sweep_part part, const char *folder,
                     int show);
/* Takes the next run for this rank; -1: none is left. Returns an exit status. */
int sweep_deal_next(sweep_deal *d, int *run);
/* Gives every rank the results of all. */
int sweep_deal_end(sweep_deal *d);
void sweep_deal_free(sweep_deal *d);

/* The folder of a run; yours to free(), NULL: no memory. */
char *sweep_deal_folder(const sweep_deal *d, int run);

#endif
