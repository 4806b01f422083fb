/* The judgement of a model, which takes seconds to minutes: asked for once, made by a thread of its own,
 * kept. */
#ifndef EXPLORE_VERDICT_H
#define EXPLORE_VERDICT_H

#include "jointflow/jointflow.h"

typedef struct verdict verdict;
typedef enum verdict_state { VERDICT_NONE, VERDICT_RUNNING, VERDICT_DONE, VERDICT_FAILED } verdict_state;

/* The cascade that makes the images of m larger, NULL: none, stays as long as m does. NULL: no memory. */
verdict *verdict_create(jf_context *ctx, const jf_model *m, const jf_cascade *cascade);
/* 0 where it is still being made: then it, the models and the context stay, for the end of the process is
 * near. */
int verdict_free(verdict *v);
void verdict_begin(verdict *v); /* unless it was begun before */
/* Texts are borrowed and stay: the table for people and the JSON once it is done, the sentence once it
 * failed. */
verdict_state verdict_get(verdict *v, const char **table, const char **json, const char **why);

#endif
