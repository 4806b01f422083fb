/* history.csv, which the report draws. */
#include "base/memory.h"
#include "fuzz.h"
#include "judge/judge_history.h"
#include "judge/judge_pictures.h"

/* Drawing takes a thousand times as long as reading: one input of many is drawn, always the same one. */
enum { DRAWN = 64 };

static int is_drawn(const fuzz_input *in) {
    unsigned sum = 0;
    for (size_t i = 0; i < in->size; i++) sum += in->bytes[i];
    return sum % DRAWN == 0;
}

static jf_status draw(jf_context *ctx, const fuzz_input *in) {
    text picture = {0};
    text_add(&picture, "%s/history.svg", in->folder);
    FUZZ_EXPECT(!picture.failed);
    jf_status status = picture_history(ctx, in->path, picture.chars);
    text_free(&picture);
    return status;
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    history h;
    JF_TRY(history_read(ctx, &h, in->path));
    FUZZ_EXPECT(h.rows >= 0 && h.phase_count <= HISTORY_MAX_PHASES);
    for (int c = 0; c < HISTORY_COLUMNS; c++) fuzz_touch(h.values[c], (size_t)h.rows * sizeof *h.values[c]);
    history_free(&h);
    return is_drawn(in) ? draw(ctx, in) : JF_OK;
}

const fuzz_reader fuzz_history = {
    .name = "history", .file = "history.csv", .most_bytes = 1024, .read = read_input};
