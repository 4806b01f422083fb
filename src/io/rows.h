/* Rows of numbers in a file: a .csv file, which is read whole, or a .npy array, which stays where it is, so
 * that it may be larger than memory; or rows in memory (io/memory_rows.h) in place of a file. */
#ifndef JF_IO_ROWS_H
#define JF_IO_ROWS_H

#include "io/memory_rows.h"
#include "types/y_axes.h"

typedef struct row_file row_file;

int row_file_is_text(const char *path); /* by its ending: .csv, .txt or .tsv */
/* By its ending: text, or .npy, an array (rows, columns) or (rows), or of one or two axes more, all numbers
 * of which are columns. */
jf_status row_file_open(jf_context *ctx, row_file **out, const char *path);
/* Columns are those of x, then those of y. */
jf_status row_file_open_memory(jf_context *ctx, row_file **out, memory_rows *rows);
void row_file_close(row_file *f);
const char *row_file_path(const row_file *f);            /* for messages */
int row_file_same(const row_file *a, const row_file *b); /* by whatever paths they were opened */
size_t row_file_rows(const row_file *f);
size_t row_file_columns(const row_file *f);
/* The axes after that of the rows where there are several, in memory those of y; otherwise of rank 0. */
y_axes row_file_axes(const row_file *f);
/* Refuses a file of several such axes, where columns are wanted. */
jf_status row_file_check_flat(jf_context *ctx, const row_file *f);
const char *row_file_name(const row_file *f, size_t column); /* NULL where the file has no header */
size_t row_file_bytes(const row_file *f);                    /* of memory that it holds */

/* NaN where a value is missing. */
double row_file_value(const row_file *f, size_t row, size_t column);
/* Refuses a column that holds text. Columns that are not used may. */
jf_status row_file_check_numbers(jf_context *ctx, const row_file *f, size_t column);
/* The different texts of a column of text, whose values are their numbers; 0: it holds numbers, or text that
 * is no class. */
size_t row_file_words(const row_file *f, size_t column);
const char *row_file_word(const row_file *f, size_t column, size_t k);
/* Refuses a column that holds neither numbers nor words of classes. */
jf_status row_file_check_classes(jf_context *ctx, const row_file *f, size_t column);
/* Some columns of a row; any number of threads at once. */
void row_file_take(const row_file *f, size_t row, const size_t *columns, size_t count, double *out);
/* Refuses a file that has changed since it was opened: values that could not be read then are NAN. */
jf_status row_file_check(jf_context *ctx, const row_file *f);

/* The column of this name or, where no column has it, of this number from 1. Refuses others, and a name that
 * two have. */
jf_status row_file_find(jf_context *ctx, const row_file *f, const char *name, size_t *column);
/* Cuts the next name off a list, "a,b,c", without the blanks around it; a name that holds a comma stands in
 * double quotes. out: room for the whole list. 0 past the last. */
int row_names_next(const char **list, char *out);
size_t row_names_count(const char *list);
/* column 2 ("height"), counted from 1 as people do; in memory column 2 of x, since they were given apart */
const char *row_file_column_words(const row_file *f, size_t column, char *out, size_t size);

#endif
