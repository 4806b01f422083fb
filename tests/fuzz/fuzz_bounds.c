/* What a user says of the columns of a table: which are x, which y, and where they can be. Three lines of the
 * input; those that are missing are not given. */
#include "base/file.h"
#include "base/memory.h"
#include "fuzz.h"
#include "train/table_recipe.h"
#include "train/train.h"
#include "types/support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char table[] = "share,size,\"a b\",count\n0.25,3,-2,0\n0.5,4,-1,1\n0.75,2,-5,2\n0.1,9,-0.5,4\n";

/* Whatever the map is given, it leads to numbers, and back into the support. */
static void look_at(const column_support *s) {
    static const double places[] = {0, -0.0, 0.3, -0.7, 2.5, -4, 6, -30, 30};
    FUZZ_EXPECT(support_is_valid(s));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        double value = support_from_line(s, places[i]);
        FUZZ_EXPECT(!isfinite(value) || support_contains(s, value));
        FUZZ_EXPECT(!isfinite(value) || isfinite(support_to_line(s, value)));
        FUZZ_EXPECT(!isnan(support_log_slope(s, places[i])));
    }
}

static jf_status open_set(jf_context *ctx, const jf_table_request *request) {
    recipe *r = NULL;
    dataset *set = NULL;
    jf_status status = table_recipe_create(ctx, &r, request);
    if (status == JF_OK) status = dataset_open(ctx, &set, r);
    if (status == JF_OK) {
        fuzz_expect_finite(set->mean, (size_t)dataset_dim(set));
        fuzz_expect_finite(set->deviation, (size_t)dataset_dim(set));
        for (int i = 0; set->support && i < dataset_dim(set); i++) look_at(&set->support[i]);
    }
    dataset_free(set);
    recipe_free(r);
    return status;
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    char *lines[3] = {NULL}, *chars = fuzz_text(in), *rest = chars;
    text path = {0};
    for (int i = 0; i < 3 && rest; i++) lines[i] = strsep(&rest, "\n");
    text_add(&path, "%s/table.csv", in->folder);
    FUZZ_EXPECT(!path.failed && file_write(ctx, path.chars, table, sizeof table - 1) == JF_OK);
    jf_status status =
        open_set(ctx, &(jf_table_request){
                          .x = path.chars, .x_columns = lines[0], .y_columns = lines[1], .bounds = lines[2]});
    text_free(&path);
    free(chars);
    return status;
}

const fuzz_reader fuzz_bounds = {
    .name = "bounds", .file = "input.txt", .most_bytes = 256, .read = read_input};
