/* Which rows of a file are held out, in a bit each: a set then needs no copy of its rows and no list of their
 * numbers.
 *
 * Rows of a set are numbered with those to train on first, then those held out, both in the order of the
 * file. */
#ifndef JF_DATA_SPLIT_H
#define JF_DATA_SPLIT_H

#include "base/context.h"
#include <stdint.h>

typedef struct row_split {
    size_t rows, validation_rows;
    uint64_t *bits; /* bit r: row r of the file is held out */
    size_t *before; /* (blocks + 1): held-out rows before each block of rows */
} row_split;

/* Rows of which none is held out yet: split_hold() marks them in any order, split_count() ends that. */
jf_status split_begin(jf_context *ctx, row_split *out, size_t rows);
void split_hold(row_split *s, size_t row);
int split_holds(const row_split *s, size_t row);
void split_count(row_split *s);
/* Holds out `validation_rows` of `rows`, always the same ones. */
jf_status split_create(jf_context *ctx, row_split *out, size_t rows, size_t validation_rows);
void split_free(row_split *s);
/* Row of the file that is row `row` of the set; below `rows`. The same one where none is held out. */
size_t split_file_row(const row_split *s, size_t row);

#endif
