/* Points of generated sets, and of their exact posteriors, as tables in files. */
#ifndef JF_DATA_DATA_EXPORT_H
#define JF_DATA_DATA_EXPORT_H

#include "data/dataset.h"
#include "jointflow/jointflow.h"

/* A generated set by its name, with its defaults; the names of others are refused with those that there are.
 */
jf_status export_open(jf_context *ctx, dataset **out, const char *set, jf_status (*declare_all)(recipe *r));

jf_status export_rows(const dataset *d, const jf_export_options *o);
/* Samples for each of the `count` rows of y (count, dim_y) into o->file; refuses rows of another size. */
jf_status export_posterior(const dataset *d, size_t count, size_t dim_y, const double *y,
                           const jf_export_options *o);

#endif
