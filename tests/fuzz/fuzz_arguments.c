/* The words of a command line, one per line of the input. */
#include "fuzz.h"
#include "options.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 64 };

static const option options[] = {
    OPTION_SEED,
    OPTION_SET,
    OPTION_STANDARDISED,
    {"points", 'n', OPTION_WHOLE, "N", "10", 1, 100, "a number"},
    {"seconds", 's', OPTION_REAL, "S", "3", 0, 600, "a time"},
    {"output", 'o', OPTION_TEXT, "FILE", NULL, 0, 0, "a file"},
    {"quiet", 'q', OPTION_FLAG, NULL, NULL, 0, 0, "a flag"},
    {0},
};

static void look_at(const arguments *a) {
    int items = 0;
    while (option_item(a, "set", items)) items++;
    FUZZ_EXPECT(a->count >= 1 && a->count <= 2 && argument(a, 0) && !argument(a, a->count));
    FUZZ_EXPECT(option_int(a, "points") >= 1 && option_int(a, "points") <= 100);
    FUZZ_EXPECT(option_real(a, "seconds") >= 0 && option_real(a, "seconds") <= 600);
    (void)option_whole(a, "seed");
    FUZZ_EXPECT(option_given(a, "quiet") == 0 || option_given(a, "quiet") == 1);
    FUZZ_EXPECT(!option_given(a, "output") || option_text(a, "output"));
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    char *words[MOST_WORDS + 1] = {NULL}, *chars = fuzz_text(in), *rest = chars, *word;
    int count = 0;
    while (count < MOST_WORDS && (word = strsep(&rest, "\n")) != NULL) words[count++] = word;
    arguments a;
    jf_status status = JF_OK;
    if (!arguments_parse(&a, options, "MODEL [DATA]", count, words))
        status = jf_fail(ctx, JF_ERROR_ARGUMENT, "%s", a.error);
    else if (!a.help)
        look_at(&a);
    arguments_free(&a);
    free(chars);
    return status;
}

const fuzz_reader fuzz_arguments = {
    .name = "arguments", .file = "input.txt", .most_bytes = 512, .read = read_input};
