/* Tables of numbers as text: one row per line, columns separated by commas, semicolons, tabs or spaces. */
#ifndef JF_IO_CSV_H
#define JF_IO_CSV_H

#include "io/words.h"

typedef struct csv_fault csv_fault;

typedef struct csv_table {
    char **names;      /* (columns); NULL where the file has no header */
    double *values;    /* (rows, columns); infinities as they were written, NaN where a value is missing */
    csv_fault *faults; /* (columns), the first field of each that is text; NULL: there is none */
    word_list *words; /* (columns), the different texts of each that is text in all rows, which are its values
                         by their number */
    size_t rows, columns;
} csv_table;

/* A first line of names is the header: quoted or not, with blank fields and plain digits among them, but no
 * other numbers. One that is neither that nor a row is refused. Blank lines and lines that begin with # are
 * skipped. Names that are not UTF-8 are read as Windows-1252, with a line in the log.
 *
 * A .tsv file is separated by tabs; elsewhere the first line decides. An empty field and words such as NA,
 * null or ? are missing values, true and false are 1 and 0.  Other text is kept as a fault of its column. In
 * a column of such text alone, with at most MAX_CLASSES different ones, values are their numbers; otherwise
 * they are NaN. */
jf_status csv_read_any(jf_context *ctx, const char *path, csv_table *out);
jf_status csv_read(jf_context *ctx, const char *path, csv_table *out); /* refuses text in any column */
/* Refuses a column that holds text, by its first line. `path` is for the message. */
jf_status csv_check_column(jf_context *ctx, const char *path, const csv_table *table, size_t column);
/* The same, unless all of its rows hold one of a few words. */
jf_status csv_check_classes(jf_context *ctx, const char *path, const csv_table *table, size_t column);
void csv_free(csv_table *table);
/* Every number reads back the same. `names` may be NULL. */
jf_status csv_write(jf_context *ctx, const char *path, const char *const *names, const double *values,
                    size_t rows, size_t columns);
/* Refuses the name of column `column` (from 0) unless it is UTF-8 without control characters; `where` is for
 * the message. */
jf_status csv_check_name(jf_context *ctx, const char *where, size_t column, const char *name);
/* The same with words in some columns: word(with, column, value) is NULL where the number is written. */
typedef const char *(*csv_word)(const void *with, size_t column, double value);
jf_status csv_write_words(jf_context *ctx, const char *path, const char *const *names, const double *values,
                          size_t rows, size_t columns, csv_word word, const void *with);
/* A name as it stands in a file, in quotes where it could be read as something else; `path` is for the
 * message. */
jf_status csv_add_name(jf_context *ctx, const char *path, text *out, const char *name);

#endif
