/* Tables of samples: reading pairs (x, y), and writing columns to a file or as CSV to standard output. */
#ifndef CLI_TABLES_H
#define CLI_TABLES_H

#include "cli.h"

/* Columns of a table that belong together: `count` of them, named name0, name1, ... */
typedef struct columns {
    const char *name;
    const double *values; /* (rows, count) */
    int count;
    int unnumbered; /* one column, called `name` */
    /* The names that the model knows these columns by, from element `first` on, come instead, or after `name`
     * and '_' where `prefixed` is set; NULL, or a model without names: none. */
    const jf_model *named_by;
    int first, prefixed;
} columns;

/* Rows of a file, taken apart. */
typedef struct pairs {
    int rows;
    double *first, *second; /* (rows, dim_x): x or z; (rows, dim_y) */
} pairs;

/* What encode, decode and density have in common: loads MODEL, reads DATA as rows of (`first`, y) and lets
 * `answer` write what it makes of them to `path`. Commands with the option -y (OPTION_GIVEN_Y) also take
 * images. All functions here return an exit status. */
typedef int (*pairs_fn)(const call *c, const jf_model *m, const pairs *data, const char *path);
int pairs_answer(const call *c, const char *first, pairs_fn answer);

#define OPTION_GIVEN_Y                                                                                       \
    {                                                                                                        \
        "y", 'y', OPTION_LIST, "VALUES", NULL, 0, 0,                                                         \
            "conditions that are not in DATA: a .csv, .tsv, .txt or .npy file with as many rows, or one "    \
            "for all; where "                                                                                \
            "DATA are images as in jointflow sample, one for all or one for each, by default, where the "    \
            "condition is an image, what the model's task makes of them"                                     \
    }

/* Whether an output file has one of the endings (".csv .npy") and replaces nothing that it must not
 * (outputs.h), before any work is done. NULL and "-": standard output. */
int tables_check_output(const call *c, const char *path, const char *endings);
int tables_write(const call *c, const char *path, int rows, const columns *parts, int part_count);

#endif
