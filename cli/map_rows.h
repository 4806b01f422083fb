/* Mapping a table or images through a model row by row: encode, decode and density. */
#ifndef CLI_MAP_ROWS_H
#define CLI_MAP_ROWS_H

#include "cli.h"

/* Rows of DATA and their results. */
typedef struct mapped_rows {
    const jf_model *model;
    int count;
    double *in, *y;             /* (count, dim_x), x or z; (count, dim_y) */
    double *out, *y_out;        /* (count, dim_x) or (count); (count, dim_y) */
    jf_density_summary summary; /* of density */
} mapped_rows;

typedef struct row_map {
    const char *in;    /* columns of DATA before those of y: "x" or "z" */
    const char *out;   /* columns of the result: "x", "z", or a name of its own where y_out is NULL */
    const char *y_out; /* columns of the result after those, as many as y has; NULL: `out` is one column */
    jf_status (*map)(mapped_rows *rows, const jf_use_options *use);
    /* Prints lines that begin with `mark`, "# " where the table follows them; NULL: none. */
    void (*print_summary)(const mapped_rows *rows, const char *mark);
} row_map;

/* Loads MODEL, reads DATA, maps its rows and writes the results to the output file. Returns an exit status.
 */
int map_rows(const call *c, const row_map *map);

extern const option map_rows_options[]; /* for maps of x; -y takes conditions, or those of images */

#endif
