/* Commands that work as they stand when they are pasted into a shell, from any directory. */
#ifndef JF_INFERENCE_COMMANDS_H
#define JF_INFERENCE_COMMANDS_H

#include "base/memory.h"
#include "model/model.h"

/* " -y upper,lower": classes, or a y in the middle of the data; " --row 1" of models whose condition is an
 * image; nothing without y. */
jf_status commands_add_y(const model *m, text *out);
/* "jointflow sample NAME -y 0.5 -o samples.png", by the program's and the model's names. */
jf_status commands_add_sample(const model *m, const char *program, const char *name, text *out);

#endif
