/* Recipes. One that is taken is written, and reads back as the same: model files and checkpoints rely on it.
 */
#include "fuzz.h"
#include "train/train.h"
#include <string.h>

static jf_status check(recipe *r) {
    JF_TRY(recipe_declare_all(r));
    return recipe_check(r);
}

static void write_and_read_again(jf_context *ctx, const recipe *r, int with_docs) {
    recipe *again = NULL;
    text once = {0}, twice = {0};
    recipe_write(r, &once, with_docs);
    FUZZ_EXPECT(!once.failed);
    FUZZ_EXPECT(recipe_parse(ctx, &again, once.chars, "again.ini") == JF_OK && check(again) == JF_OK);
    recipe_write(again, &twice, with_docs);
    FUZZ_EXPECT(!twice.failed && strcmp(once.chars, twice.chars) == 0);
    text_free(&once);
    text_free(&twice);
    recipe_free(again);
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    recipe *r = NULL;
    JF_TRY(recipe_load(ctx, &r, in->path));
    jf_status status = check(r);
    if (status == JF_OK) {
        write_and_read_again(ctx, r, 0);
        write_and_read_again(ctx, r, 1);
    }
    recipe_free(r);
    return status;
}

const fuzz_reader fuzz_recipe = {
    .name = "recipe", .file = "input.ini", .most_bytes = 2048, .read = read_input};
