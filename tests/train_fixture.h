/* What the tests of training share: a recipe made into data, a model and a run, and ends of runs to compare.
 */
#ifndef JF_TESTS_TRAIN_FIXTURE_H
#define JF_TESTS_TRAIN_FIXTURE_H

#include "test.h"

#include "base/file.h"
#include "train/batches.h"
#include "train/checkpoint.h"

#define TINY_MODEL "[model]\nblocks = 1\ndepth = 1\nwidth = 4\n"
extern const char tiny[]; /* a recipe */
/* The same with a flow of couplings alone (0), or of every transform of the list in each step (1); returns
 * `to`. */
const char *tiny_of(int all, char to[600]);

typedef struct run run;
struct run {
    jf_context *ctx;
    recipe *recipe;
    dataset *data; /* NULL where the objective needs none */
    model *m;
    int stop;
    int changed_data;                            /* resuming goes on with others */
    double interval;                             /* between two reports, seconds; 0: after every batch */
    void (*watch)(run *r, const jf_training *p); /* NULL, or called with every report */
    int done;                                    /* of the watcher */
    int reports;
    jf_training last; /* the last report, with a copy of its terms */
    jf_term terms[TERM_COUNT];
    double first[TERM_COUNT]; /* terms of the first epoch, where they are watched */
    char log[4096];           /* its lines, as far as they fit */
};

recipe *checked_recipe(jf_context *ctx, const char *content);
run *run_open(const char *content); /* on the default device, one thread */
run *run_open_on(const char *content, const device_kind *kind, int threads);
void run_close(run *r);
jf_status run_train(run *r, const char *folder, int resume); /* folder NULL: nothing is written */

double *weights_of(const model *m); /* yours to free */
int same_weights(const model *a, const model *b);
/* history.csv without its last column, the seconds; yours to free */
char *history_of(jf_context *ctx, const char *folder);
/* Weights and histories, but for the seconds, have the same bytes. */
void check_same_end(run *a, const char *folder_a, run *b, const char *folder_b);
void copy_file(jf_context *ctx, const char *from, const char *to);

#endif
