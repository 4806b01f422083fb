/* Models of super-resolution that make what a model draws larger: those of --then, or of the model's own recipe. */
#ifndef CLI_THEN_H
#define CLI_THEN_H

#include "cli.h"

#define OPTION_THEN                                                                                          \
    {                                                                                                        \
        "then", 0, OPTION_TEXT, "MODELS", NULL, 0, 0,                                                        \
            "models of images: models of super-resolution that make what is drawn larger, separated by "     \
            "commas, or several under one name; none: it stays as it is; by default those that the model's " \
            "recipe names (data.then)"                                                                       \
    }

/* The files of all models of one name, after the *count that are there; at most JF_CHAIN_MOST. Each is yours to free(). */
int then_find(const call *c, const char *name, char *files[JF_CHAIN_MOST], int *count);

typedef struct followers {
    jf_model *models[JF_CHAIN_MOST];
    size_t count; /* 0: what is drawn stays as it is */
} followers;
int followers_load(const call *c, const jf_model *m, followers *out);
void followers_free(followers *f);
/* Replaces images by what the followers make of each. */
int followers_enlarge(const call *c, const followers *f, jf_images *images);

#endif
