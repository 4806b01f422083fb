/* Values of -y, one per line of the input, for the model that its first byte chooses. */
#include "base/memory.h"
#include "conditions.h"
#include "fuzz.h"
#include "train/train.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_ITEMS = 8 };

static const char *const recipes[] = {
    "[data]\nset = crescents\n[model]\nblocks = 1\ndepth = 1\nwidth = 1\n",
    "[data]\nset = mixed\n[model]\nblocks = 1\ndepth = 1\nwidth = 1\n",
    "[data]\nset = sectors\n[model]\nblocks = 1\ndepth = 1\nwidth = 1\n",
    ("[data]\nset = images\nimages = glyphs\nclasses = ring square\nlimit = 20\n"
     "[model]\nnet = resnext\nblocks = 1\nkernels = 2\ncardinality = 1\nresidual = 1\n"),
};
enum { MODELS = sizeof recipes / sizeof *recipes };

static const model *model_number(int index) {
    static const model *models[MODELS];
    if (!models[index]) models[index] = fuzz_model_of(recipes[index]);
    return models[index];
}

static const option options[] = {{"y", 'y', OPTION_LIST, "VALUES", NULL, 0, 0, "conditions"}, {0}};
static const command command_fuzz = {.name = "fuzz", .arguments = "", .options = options};

static int read_conditions(jf_context *ctx, const model *m, int count, char **words) {
    arguments a;
    conditions y;
    FUZZ_EXPECT(arguments_parse(&a, options, "", count, words));
    call c = {.ctx = ctx, .command = &command_fuzz, .arguments = &a};
    int code = conditions_read(&c, m, &(conditions_request){.option = "y", .shown = "-y"}, &y);
    FUZZ_EXPECT(code == CLI_OK || code == CLI_FAILED || code == CLI_MISUSE);
    if (code == CLI_OK) {
        FUZZ_EXPECT(y.count > 0);
        fuzz_expect_finite(y.values, y.count * (size_t)y.dim);
        conditions_free(&y);
    }
    arguments_free(&a);
    return code;
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    char *words[2 * MOST_ITEMS + 1] = {NULL}, *chars = fuzz_text(in), *rest = chars + (in->size > 0), *item;
    char option_word[] = "-y";
    int count = 0;
    while (count < 2 * MOST_ITEMS && (item = strsep(&rest, "\n")) != NULL) {
        if (*item == '@') continue; /* files are for the other readers */
        words[count++] = option_word;
        words[count++] = item;
    }
    int code = read_conditions(ctx, model_number(in->size ? in->bytes[0] % MODELS : 0), count, words);
    free(chars);
    return code == CLI_OK ? JF_OK : jf_fail(ctx, JF_ERROR_ARGUMENT, "refused on standard error");
}

const fuzz_reader fuzz_conditions = {
    .name = "conditions", .file = "input.txt", .most_bytes = 256, .read = read_input};
