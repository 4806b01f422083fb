/* What the files of the table set share. */
#ifndef JF_DATA_SETS_TABLE_H
#define JF_DATA_SETS_TABLE_H

#include "data/dataset.h"
#include "data/split.h"
#include "io/rows.h"

typedef struct table {
    row_file *x_file, *y_file;     /* y_file: the same, or a file of its own */
    size_t *x_columns, *y_columns; /* (dim_x), and behind it (dim_y): which of the file's */
    row_split left_out;            /* rows of the files that are left out ("held"); may be empty */
    row_split split;               /* the other rows, those to train on and those held out */
    size_t missing;                /* rows left out since a value is missing */
    size_t first_missing;          /* the first of them, and its element */
    int missing_element;
    const char **names; /* (dim): those of the columns, which the files own; NULL: they have none */
    int y_count;        /* columns of y in their file: dim_y, or 1 where y has a column for each class */
    char class_text[MAX_CLASSES][MAX_CLASS_NAME];
    int class_of_word[MAX_CLASSES]; /* where y is text: of each of its words */
} table;

/* Columns of x, then those of y, in the files: of several for the classes of y the one that they are made of.
 */
int table_columns(const dataset *d);
/* Row `row` of the set, x and then the y_count columns of y; from `rows` on those held out. */
void table_take(const dataset *d, long row, double *x, double *y);
/* Row of the file, from 0, that became row `row` of the set. */
long table_file_row(const dataset *d, long row);
/* Warns of the rows that are left out; says nothing where there are none. */
void table_tell_missing(const dataset *d);
/* "FILE: row 17, column 2 ("height")" of element `element` of a row of the file, from 0. */
const char *table_place(const dataset *d, size_t file_row, int element, char *out, size_t size);
/* Row of the file, from 0, that is row `row` of those without missing values. */
size_t table_complete_row(const dataset *d, size_t row);
/* table_classes.c: the classes of y, of data.discrete, and their planes, of data.one_hot */
jf_status table_find_classes(dataset *d, const recipe *r);
int table_row_class(const dataset *d, long row);
jf_status table_make_planes(dataset *d);
/* table_examine.c: dataset_kind.examine */
jf_status table_examine(const dataset *d);
/* table_leaks.c: warns of columns of x that follow linearly from y or from other columns of x. */
jf_status table_examine_leaks(const dataset *d);

#endif
