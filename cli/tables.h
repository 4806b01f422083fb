/* Tables of samples: writing columns to a file, or as CSV to standard output. */
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

/* Whether an output file has one of the endings (".csv .npy") and replaces nothing that it must not
 * (outputs.h), before any work is done. NULL and "-": standard output. Both return an exit status. */
int tables_check_output(const call *c, const char *path, const char *endings);
int tables_write(const call *c, const char *path, int rows, const columns *parts, int part_count);

#endif
