/* Models of super-resolution that make what a model draws larger: those of --then, or of the model's own
 * recipe. */
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

#define THEN_WANTS_IMAGES "--then makes images larger, expected a model of images and -o FILE.png or FILE.npy"

/* Yours to jf_then_free(). */
int then_load(const call *c, const jf_model *m, jf_then *out);
/* Replaces images by larger ones. together: so many that follow each other belong to one line. */
int then_enlarge(const call *c, const jf_then *then, size_t together, jf_images *images);

#endif
