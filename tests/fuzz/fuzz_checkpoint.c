/* Checkpoints, of one run: most of what can be wrong with one is that it is of another. */
#include "fuzz.h"
#include "train/checkpoint.h"
#include <stdlib.h>

/* What a resumed run has when it reads its checkpoint. */
typedef struct setting {
    model *m;
    optimiser o;
    real *best;
    epoch_start start;
    train_state state;
} setting;

static real *flat(const model *m) {
    real *numbers = NULL;
    FUZZ_EXPECT(m->d->kind->alloc(m->d, &numbers, m->parameters.total) == JF_OK);
    return numbers;
}

static setting *the_setting(void) {
    static setting s;
    if (s.m) return &s;
    s.m = fuzz_model_of("[data]\nset = mixed\n[model]\nlaw = additive\nblocks = 1\ndepth = 1\nwidth = 1\n");
    FUZZ_EXPECT(optimiser_create(&s.o, s.m) == JF_OK);
    s.best = flat(s.m);
    s.start = (epoch_start){.params = flat(s.m), .first = flat(s.m), .second = flat(s.m)};
    return &s;
}

static jf_status load(const char *path) {
    setting *s = the_setting();
    int unusable;
    checkpoint_data data = {0};
    return checkpoint_load(path, s->m, &s->o, s->best, &s->start, &s->state, &data, &unusable);
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    setting *s = the_setting();
    jf_status status = load(in->path);
    uint8_t *mended = status == JF_OK ? NULL : fuzz_mended(in, jf_context_error(s->m->ctx));
    if (mended) {
        fuzz_put(in, mended, in->size);
        status = load(in->path);
    }
    free(mended);
    return status == JF_OK ? JF_OK : jf_fail(ctx, status, "%s", jf_context_error(s->m->ctx));
}

/* Between two epochs, and in the middle of one. */
static jf_status example(jf_context *ctx, const char *path, int index) {
    (void)ctx;
    setting *s = the_setting();
    train_state state = {.epoch = 1, .batch = index, .rate_factor = 1};
    s->start.state = state;
    return checkpoint_save(path, s->m, &s->o, s->best, &s->start, &state, &(checkpoint_data){0});
}

const fuzz_reader fuzz_checkpoint = {.name = "checkpoint",
                                     .file = "input.safetensors",
                                     .most_bytes = 32768,
                                     .read = read_input,
                                     .example = example,
                                     .examples = 2};
