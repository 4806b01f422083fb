/* What the files of the table set share. */
#ifndef JF_DATA_SETS_TABLE_H
#define JF_DATA_SETS_TABLE_H

#include "data/dataset.h"

typedef struct table {
    char *path;    /* of the file */
    double *x, *y; /* (rows, dim_x), (rows, dim_y): those to train on first, then those held out */
    char *names[DATASET_MAX_NAMES];
    char class_text[MAX_CLASSES][MAX_CLASS_NAME];
} table;

/* Row of the file, from 0, that became row `row` of the set. */
long table_file_row(const dataset *d, long row);
/* table_examine.c: dataset_kind.examine */
jf_status table_examine(const dataset *d);

#endif
