/* Tables as text. */
#include "fuzz.h"
#include "io/csv.h"
#include <string.h>

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    csv_table t;
    JF_TRY(csv_read(ctx, in->path, &t));
    FUZZ_EXPECT(t.rows > 0 && t.columns > 0);
    fuzz_touch(t.values, t.rows * t.columns * sizeof *t.values);
    for (size_t i = 0; t.names && i < t.columns; i++) fuzz_touch(t.names[i], strlen(t.names[i]));
    csv_free(&t);
    return JF_OK;
}

const fuzz_reader fuzz_csv = {.name = "csv", .file = "input.csv", .most_bytes = 4096, .read = read_input};
