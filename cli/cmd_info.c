/* jointflow info: what a model is, and which came with the program. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>

static int list_models(const call *c) {
    char *list;
    if (jf_model_list(&list, c->ctx) != JF_OK) return cli_fail_library(c);
    cli_print_list(list);
    int none = !*list;
    jf_text_free(list);
    return none ? cli_fail("no models found; JOINTFLOW_MODELS may name the folder that has them") : CLI_OK;
}

static int info(const call *c) {
    if (!argument(c->arguments, 0)) return list_models(c);
    jf_model *m = NULL;
    char *text = NULL;
    int code = cli_load_model(c, &m, argument(c->arguments, 0));
    if (code == CLI_OK && jf_model_info(&text, m) != JF_OK) code = cli_fail_library(c);
    if (code == CLI_OK) fputs(text, stdout);
    if (code == CLI_OK) code = cli_say_example(c, m, "example     ", argument(c->arguments, 0));
    jf_text_free(text);
    jf_model_free(m);
    return code;
}

static const example examples[] = {
    {"Which models came with the program", "jointflow info"},
    {"Shapes, layers, parameters and training of a run", "jointflow info out/crescents"},
    {"Of a model file", "jointflow info model.safetensors"},
    {0}};

const command command_info = {
    .name = "info",
    .summary = "list the models, or tell what one is",
    .arguments = "[MODEL]",
    .about = "Without MODEL lists the models that came with the program, which every command takes by their "
             "names. "
             "With MODEL, one of those, a run folder or a model file, tells about it: the data, dimensions "
             "and classes, "
             "layers, parameters, and how it was trained.",
    .options = (const option[]){OPTION_THREADS, OPTION_DEVICE, {0}},
    .examples = examples,
    .run = info,
};
