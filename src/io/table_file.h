/* Tables of numbers in text (.csv, .tsv, .txt) and .npy files. */
#ifndef JF_IO_TABLE_FILE_H
#define JF_IO_TABLE_FILE_H

#include "io/rows.h"
#include "jointflow/jointflow.h"

/* Refuses values that are not finite. */
jf_status table_read(jf_context *ctx, jf_table *out, const char *path);
/* names: (columns), of a .csv file, or NULL. */
jf_status table_write(jf_context *ctx, const jf_table *t, const char *const *names, const char *path);
/* Frees the table where it refuses it. f, columns: the file and those of its columns that the table has,
 * which messages name; NULL: their numbers. */
jf_status table_check_finite(jf_context *ctx, jf_table *t, const char *path, const row_file *f,
                             const size_t *columns);
void table_free(jf_table *t);

#endif
