/* Rows of x and y that lie in memory: in arrays of the caller, which stay where they are, or in one that was
 * filled row by row and belongs to the rows.
 *
 * Rows are counted: whoever keeps them holds them (memory_rows_hold) and frees what it held. Names are set
 * before others see them; afterwards nothing changes, so that any number of threads may read and hold them.
 */
#ifndef JF_IO_MEMORY_ROWS_H
#define JF_IO_MEMORY_ROWS_H

#include "base/context.h"
#include "io/words.h"
#include "jointflow/jointflow.h"
#include "types/y_axes.h"
#include <stddef.h>

/* What a recipe calls them where a file would stand. */
#define MEMORY_ROWS_FILE "memory"

typedef struct jf_data memory_rows; /* public name: jf_data */

/* y NULL: there is none. Refuses arrays of different rows, and columns that occur twice. */
jf_status memory_rows_create(jf_context *ctx, memory_rows **out, const jf_array *x, const jf_array *y);
/* Rows of their own, doubles: `fill` writes rows first .. first + count - 1 of x and of y, in their order and
 * a few at a time; non-zero: it cannot, and JF_STOPPED follows. */
jf_status memory_rows_fill(jf_context *ctx, memory_rows **out, size_t rows, size_t dim_x, size_t dim_y,
                           jf_fill_fn fill, void *user);
/* The same rows under other names. */
jf_status memory_rows_renamed(jf_context *ctx, memory_rows **out, memory_rows *rows,
                              const char *const *names);
/* (columns of x, then those of y), copied; NULL: they have none. */
jf_status memory_rows_set_names(memory_rows *r, const char *const *names);
/* The one column of y holds numbers of these words, from 0. They are copied; refuses several columns, and
 * words that are NULL or empty. */
jf_status memory_rows_set_words(memory_rows *r, const char *const *words, size_t count);
const word_list *memory_rows_words(const memory_rows *r);
/* y is a series or an image of these sizes (count), as many numbers as it has columns; refuses others. */
jf_status memory_rows_set_axes(memory_rows *r, const size_t *sizes, size_t count);
y_axes memory_rows_axes(const memory_rows *r); /* of rank 0: a vector */
/* Called when the last holder has freed them. */
void memory_rows_on_release(memory_rows *r, void (*release)(void *user), void *user);
memory_rows *memory_rows_hold(memory_rows *r);
void memory_rows_free(memory_rows *r);

jf_context *memory_rows_context(const memory_rows *r);
size_t memory_rows_count(const memory_rows *r);
size_t memory_rows_columns_x(const memory_rows *r);
size_t memory_rows_columns(const memory_rows *r); /* of x and y */
size_t memory_rows_bytes(const memory_rows *r);   /* that they own */
const char *memory_rows_name(const memory_rows *r, size_t column);
double memory_rows_value(const memory_rows *r, size_t row, size_t column);

#endif
