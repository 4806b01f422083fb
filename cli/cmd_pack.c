/* jointflow pack: a model made ready to be given away, with its card. */
#include "cascade_option.h"
#include "cli.h"
#include "outputs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void tell_size(const char *path) {
    struct stat s;
    if (stat(path, &s) == 0) printf("%s: %.1f kB\n", path, (double)s.st_size / 1000);
}

static int pack(const call *c) {
    const arguments *a = c->arguments;
    const char *path = option_text(a, "output"), *from = argument(a, 0);
    jf_model *m = NULL;
    char *told = NULL;
    if (!path) return cli_misuse(c->command, "-o is missing: a .safetensors file");
    if (!cli_ends_with(path, ".safetensors"))
        return cli_misuse(c->command, "-o: found \"%s\", expected a .safetensors file", path);
    if (!option_given(a, "half") && option_given(a, "tolerance"))
        return cli_misuse(c->command, "--tolerance is for --half");
    int code = option_given(a, "force") ? CLI_OK : output_check_file(c, path);
    if (code == CLI_OK) code = cli_load_model(c, &m, from);
    jf_cascade *cascade = NULL;
    if (code == CLI_OK) code = cascade_option_load(c, m, &cascade);
    jf_pack_options options = {.size = sizeof(jf_pack_options),
                               .half = option_given(a, "half"),
                               .tolerance =
                                   fmax(option_real(a, "tolerance"), 1e-12), /* 0 would be the default */
                               .name = option_text(a, "name"),
                               .run = cli_is_folder(from) ? from : NULL,
                               .points = (size_t)option_int(a, "points"),
                               .seed = option_whole(a, "seed"),
                               .threads = option_int(a, "threads"),
                               .cascade = cascade};
    jf_status status = code == CLI_OK ? jf_pack(&told, m, path, &options) : JF_OK;
    if (told) fputs(told, stdout);
    if (status != JF_OK) code = cli_fail_library(c);
    if (code == CLI_OK) tell_size(path);
    jf_text_free(told);
    jf_cascade_free(cascade);
    jf_model_free(m);
    return code;
}

static const option options[] = {
    {"output", 'o', OPTION_TEXT, "FILE", NULL, 0, 0,
     "the .safetensors file to write; its card is the .md beside it"},
    {"half", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "store weights in half precision, and compare the judgement before and after"},
    {"tolerance", 0, OPTION_REAL, "NATS", "0.002", 0, 1000000,
     "with --half: how much worse the loss may get, nats per dimension of x"},
    {"name", 0, OPTION_TEXT, "NAME", NULL, 0, 0,
     "the name by which the model will be called, by default that of the file; fashion/7-14, say, of one in "
     "a folder"},
    {"force", 0, OPTION_FLAG, NULL, NULL, 0, 0, "replace a model that is there"},
    OPTION_THEN,
    OPTION_POINTS,
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_DEVICE,
    {0},
};

static const example examples[] = {
    {"Half as large, with its card", "jointflow pack out/crescents --half -o models/crescents.safetensors"},
    {"One step of a pair that has one name",
     "jointflow pack out/fashion-sr-7-14 --half --name fashion/7-14 -o models/fashion/7-14.safetensors"},
    {0},
};

const command command_pack = {
    .name = "pack",
    .summary = "make a model ready to be given away, with its card",
    .arguments = "MODEL",
    .about = "Writes MODEL, a run folder or a model file, to a file of its own, and beside it a card: a page "
             "of Markdown "
             "that tells what the model is, how it is used, its judgement, how it was trained (from the "
             "history, where "
             "MODEL is a run folder) and its recipe. All of it is taken from the model itself, so its data "
             "have to be "
             "at hand.\n"
             "With --half weights are stored in half precision, in half as many bytes, but for the few that "
             "act on whole layers. The model is judged "
             "before and "
             "after, on the same points; where its loss gets worse by more than the tolerance nothing is "
             "written. Programs "
             "from before there were such files refuse them with a sentence.\n"
             "Models in the folder models/, where the program looks for them as for recipes, or in the "
             "folder that "
             "JOINTFLOW_MODELS names, are known by their names; jointflow info lists them.",
    .options = options,
    .examples = examples,
    .run = pack,
};
