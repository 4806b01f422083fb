/* Rows of the data of a model, for whoever shows them beside its samples. */
#ifndef JF_INFERENCE_DATA_ROWS_H
#define JF_INFERENCE_DATA_ROWS_H

#include "data/dataset.h"
#include "model/model.h"

/* Refuses models without data. */
jf_status data_of_model(const model *m, dataset **out);
/* Up to n rows of a class (-1: of all) at random: x (n, dim_x) and y (n, dim_y), which may be NULL. *found:
 * how many there were. */
jf_status data_rows(const model *m, size_t n, int class_index, uint64_t seed, size_t *found, double *x,
                    double *y);

#endif
