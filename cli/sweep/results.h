/* What came out of the runs of a sweep. The result of a run lies in its folder, result.csv, and is written
 * when all else of the run is there: whoever finds it need not train. */
#ifndef CLI_SWEEP_RESULTS_H
#define CLI_SWEEP_RESULTS_H

#include "cli.h"
#include "plan.h"

typedef struct sweep_result {
    int done;
    double loss; /* the least that an epoch ended with: of held-out rows, where there are any */
    int64_t epoch;
    double seconds;
} sweep_result;

/* What history.csv of a run that has ended tells; 0: nothing. */
int sweep_result_of_history(const char *folder, sweep_result *out);
int sweep_result_read(const char *folder, sweep_result *out);      /* 0: it is not there, or not whole */
int sweep_result_write(const char *folder, const sweep_result *r); /* an exit status */

/* Of a setting, over its seeds. */
typedef struct sweep_score {
    int setting, seeds;  /* seeds: how many are done */
    double mean, spread; /* spread: standard deviation over the seeds; NAN of a single one */
    double seconds;      /* mean */
} sweep_score;

/* results: (runs). scores (settings): those with results first, the best one first of all; returns how many
 * have any. */
int sweep_scores(const sweep_plan *p, const sweep_result *results, sweep_score *scores);
/* The table for people, and what it says in a sentence; all runs as sweep.csv and a picture, sweep.png, in
 * the folder. */
int sweep_print(const sweep_plan *p, const sweep_result *results);
int sweep_write(const call *c, const sweep_plan *p, const sweep_result *results, const char *folder);

#endif
