/* A model in words, for people. */
#ifndef JF_INFERENCE_DESCRIBE_H
#define JF_INFERENCE_DESCRIBE_H

#include "base/memory.h"
#include "model/model.h"

jf_status model_describe(const model *m, text *out); /* adds lines: a word, and what there is to say */

#endif
