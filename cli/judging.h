/* What judge and report are asked alike. */
#ifndef CLI_JUDGING_H
#define CLI_JUDGING_H

#include "cli.h"

#define OPTIONS_JUDGE                                                                                        \
    OPTION_POINTS,                                                                                           \
        {"test",      0,                                                                                     \
         OPTION_TEXT, "DATA",                                                                                \
         NULL,        0,                                                                                     \
         0,           "judge on other data: a table, or images as data.images of a recipe names them"},      \
        {"test-labels",                                                                                      \
         0,                                                                                                  \
         OPTION_TEXT,                                                                                        \
         "FILE",                                                                                             \
         NULL,                                                                                               \
         0,                                                                                                  \
         0,                                                                                                  \
         "the labels of images of --test in a .npy file, or the file of y of a table"},                      \
        {"inputs", 0, OPTION_WHOLE, "N",                                                                     \
         "64",     1, 1000000,      "models of images: held-out images that samples are drawn for"},         \
    {                                                                                                        \
        "denoise", 0, OPTION_FLAG, NULL, NULL, 0, 0,                                                         \
            "also judge samples without the noise of training, as sample --denoise draws them"               \
    }

jf_judge_options judging_options(const arguments *a);

#endif
