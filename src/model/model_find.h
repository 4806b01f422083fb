/* Models by the name of a file, of a folder, or of one that came with the program. */
#ifndef JF_MODEL_MODEL_FIND_H
#define JF_MODEL_MODEL_FIND_H

#include "model/model.h"

/* The path of model `index` of those that a name stands for, yours to free; NULL: there are no more. */
jf_status model_find(jf_context *ctx, char **out, const char *name, int index);
/* Loads the one that a path or a name stands for, the same for all ranks; refuses a folder of several. on:
 * a device; NULL: the first there is. */
jf_status model_open(jf_context *ctx, model **out, const char *name, const char *on, int threads,
                     jf_status (*declare_all)(recipe *r));

#endif
