/* The cascade that makes what a model draws larger: models of --then, or those that the model's recipe names.
 */
#ifndef CLI_CASCADE_OPTION_H
#define CLI_CASCADE_OPTION_H

#include "cli.h"

#define OPTION_THEN                                                                                          \
    {                                                                                                        \
        "then", 0, OPTION_TEXT, "MODELS", NULL, 0, 0,                                                        \
            "models of images: models of super-resolution that make what is drawn larger, separated by "     \
            "commas, or several under one name; none: it stays as it is; by default those that the model's " \
            "recipe names (data.then)"                                                                       \
    }

#define THEN_WANTS_IMAGES "--then makes images larger, expected a model of images and -o FILE.png or FILE.npy"

/* *out NULL: what is drawn stays as it is. */
int cascade_option_load(const call *c, const jf_model *m, jf_cascade **out);
/* Replaces images by larger ones; cascade NULL: leaves them as they are. together: so many that follow each
 * other belong to one line. */
int cascade_option_replace(const call *c, const jf_cascade *cascade, size_t together, jf_images *images);
jf_status cascade_replace(const jf_cascade *cascade, const jf_cascade_options *options, jf_images *images);

#endif
