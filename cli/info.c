/* jointflow info: what a model is. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>

static int info(const call *c) {
    jf_model *m = NULL;
    char *text = NULL;
    int code = cli_load_model(c, &m, argument(c->arguments, 0));
    if (code == CLI_OK && jf_model_info(m, &text) != JF_OK) code = cli_fail_library(c);
    if (code == CLI_OK) fputs(text, stdout);
    free(text);
    jf_model_free(m);
    return code;
}

static const example examples[] = {
    {"Shapes, layers, parameters and training of a run", "jointflow info out/crescents"},
    {"Of a model file", "jointflow info model.safetensors"},
    {0}};

const command command_info = {
    .name = "info",
    .summary = "tell what a model is",
    .arguments = "MODEL",
    .about = "Tells about MODEL, a run folder or a model file: the data, dimensions and classes, layers, "
             "parameters, and how it was trained.",
    .options = (const option[]){OPTION_THREADS, OPTION_DEVICE, {0}},
    .examples = examples,
    .run = info,
};
