/* A table as a data set: its columns, their units, rows to train on and rows held out. */
#include "base/memory.h"
#include "fuzz.h"
#include "train/train.h"
#include <stdlib.h>

static jf_status open_set(jf_context *ctx, dataset **out, recipe **r, const char *path) {
    text content = {0};
    text_add(&content, "[data]\nset = table\nfile = %s\nx = 1\ny = 1\n", path);
    FUZZ_EXPECT(!content.failed);
    FUZZ_EXPECT(recipe_parse(ctx, r, content.chars, "fuzz.ini") == JF_OK);
    text_free(&content);
    FUZZ_EXPECT(recipe_declare_all(*r) == JF_OK && recipe_check(*r) == JF_OK);
    return dataset_open(ctx, out, *r);
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    recipe *r = NULL;
    dataset *set = NULL;
    jf_status status = open_set(ctx, &set, &r, in->path);
    if (status == JF_OK) {
        FUZZ_EXPECT(set->dim_x > 0);
        size_t dim = (size_t)(set->dim_x + set->dim_y);
        fuzz_expect_finite(set->mean, dim);
        fuzz_expect_finite(set->deviation, dim);
        for (size_t i = 0; i < dim; i++) FUZZ_EXPECT(set->deviation[i] > 0);
    }
    dataset_free(set);
    recipe_free(r);
    return status;
}

const fuzz_reader fuzz_table = {.name = "table", .file = "input.csv", .most_bytes = 4096, .read = read_input};
