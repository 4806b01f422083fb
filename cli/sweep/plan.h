/* The runs of a sweep: every setting of a grid of values, with a number of seeds each.
 *
 * A value that varies is written KEY=A,B,C; one that holds commas itself stands in parentheses,
 * KEY=(64,32),(32,16). Settings are numbered with the last key running fastest, runs with the seed running
 * faster still. */
#ifndef CLI_SWEEP_PLAN_H
#define CLI_SWEEP_PLAN_H

#include <stddef.h>
#include <stdint.h>

typedef struct sweep_axis {
    char *key;
    char **values; /* (count) */
    int count;
} sweep_axis;

typedef struct sweep_plan {
    sweep_axis *axes; /* (axis_count) */
    int axis_count;
    int settings, seeds; /* of which each setting is run with */
    uint64_t first_seed;
} sweep_plan;

#define SWEEP_MOST 10000 /* runs */

/* texts (count): KEY=VALUES each. Returns 1, or 0 with the reason in `why`; to be freed in both cases. */
int sweep_plan_create(sweep_plan *out, const char *const *texts, int count, int seeds, uint64_t first_seed,
                      char *why, size_t size);
void sweep_plan_free(sweep_plan *p);
int sweep_plan_runs(const sweep_plan *p);

/* Which value of an axis a setting has. */
const char *sweep_plan_value(const sweep_plan *p, int setting, int axis);
/* What varies, as people read it: "train.rate=1e-4 model.width=32"; "as it is" where nothing does. Yours to
 * free(); NULL: no memory. */
char *sweep_plan_words(const sweep_plan *p, int setting);
/* The folder of a run below that of the sweep: "train.rate=1e-4,model.width=32/seed-1". The same. */
char *sweep_plan_folder(const sweep_plan *p, int setting, int seed);

#endif
