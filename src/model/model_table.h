/* Tables of the elements of a model: columns by its names, classes by their words. */
#ifndef JF_MODEL_MODEL_TABLE_H
#define JF_MODEL_MODEL_TABLE_H

#include "jointflow/jointflow.h"
#include "model/model.h"

/* The columns of elements first .. first + count - 1 of (x, y), found by name where the file has the names;
 * the column of a class becomes the y of the model. */
jf_status model_table_read(const model *m, jf_table *out, const char *path, size_t first, size_t count);
/* is_class (columns): labels, which are written as the words of their classes in .csv files. */
jf_status model_table_write(const model *m, const jf_table *t, const char *const *names,
                            const unsigned char *is_class, const char *path);

#endif
