/* jointflow export: a model as a file for other programs. */
#include "cli.h"
#include "outputs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of -o NAME.onnx, NAME.density.onnx is written, too. */
static int check_outputs(const call *c, const char *path) {
    int code = output_check_file(c, path);
    if (code != CLI_OK || !cli_ends_with(path, ".onnx")) return code;
    char *density = cli_join("%.*s.density.onnx", (int)(strlen(path) - strlen(".onnx")), path);
    code = density ? output_check_file(c, density) : cli_fail_memory();
    free(density);
    return code;
}

static int export_run(const call *c) {
    const arguments *a = c->arguments;
    const char *path = option_text(a, "output");
    jf_model *m = NULL;
    char *files = NULL;
    if (!path) return cli_misuse(c->command, "-o is missing: a .c or .onnx file");
    int code = check_outputs(c, path);
    if (code == CLI_OK) code = cli_load_model(c, &m, argument(a, 0));
    if (code == CLI_OK && jf_model_export(&files, m, path, option_text(a, "name")) != JF_OK)
        code = cli_fail_library(c);
    if (files) fputs(files, stdout);
    jf_text_free(files);
    jf_model_free(m);
    return code;
}

static const option options[] = {
    {"output", 'o', OPTION_TEXT, "FILE", NULL, 0, 0, "the file to write; its ending tells the format"},
    {"name", 0, OPTION_TEXT, "NAME", NULL, 0, 0,
     "what the functions of a C file, or the graphs, are called; by default as the file"},
    OPTION_THREADS,
    OPTION_DEVICE,
    {0},
};

static const example examples[] = {
    {"A model that came with the program, as C", "jointflow export crescents -o crescents.c"},
    {"To be linked into a program", "cc -std=c99 -O2 -c crescents.c && cc main.c crescents.o -lm"},
    {"As graphs of ONNX, to decode and to tell densities", "jointflow export out/mine -o mine.onnx"},
    {0},
};

const command command_export = {
    .name = "export",
    .summary = "a model as a file that answers without this program",
    .arguments = "MODEL",
    .about =
        "Writes MODEL as a file for other programs and prints the names of what was written. Values go in "
        "and come out in the units of the data, as of sample, encode, decode and density; densities are "
        "those "
        "of the whole map. Models that make the images of MODEL larger (data.then) are not part of it, as a "
        "warning says.\n"
        "FILE.c is C99 that needs libm alone and allocates nothing: functions that draw samples (with the "
        "latent points of jointflow sample), decode, encode and tell log p(x | y). Its declarations stand at "
        "its top.\n"
        "FILE.onnx decodes: from z (N, dim_x) and y (N, dim_y) to x and y_back, floats, for any N. "
        "FILE.density.onnx, which is written with it, takes x and y to log_p (N), z, y_out and y_error (N).",
    .options = options,
    .examples = examples,
    .run = export_run,
};
