/* Model files. What loads is used: it samples, and tells densities of what it has sampled. */
#include "base/file.h"
#include "fuzz.h"
#include "jointflow/jointflow.h"
#include "train/train.h"
#include <stdlib.h>

/* Vectors with a class, vectors with numbers for y, every transform, images. */
static const char *const recipes[] = {
    "[data]\nset = crescents\n[model]\nblocks = 1\ndepth = 1\nwidth = 1\n",
    "[data]\nset = mixed\n[model]\nblocks = 1\ndepth = 1\nwidth = 2\nlaw = additive\n",
    "[data]\nset = sectors\n[model]\nblocks = 1\ndepth = 1\nwidth = 1\ntransforms = actnorm mixing "
    "coupling\n",
    ("[data]\nset = images\nimages = glyphs\ntask = superres\ndown = 1\nlimit = 20\n"
     "[model]\nnet = resnext\nblocks = 1\nkernels = 2\ncardinality = 1\nresidual = 1\n"),
};

static void use(const jf_model *m) {
    enum { ROWS = 3, MOST_ELEMENTS = 1 << 12 };
    size_t dim_x = (size_t)jf_model_dim_x(m), dim_y = (size_t)jf_model_dim_y(m);
    if (dim_x + dim_y > MOST_ELEMENTS) return;
    double *x = calloc(ROWS * dim_x, sizeof *x), *y = calloc(ROWS * dim_y + 1, sizeof *y), log_p[ROWS];
    char *words;
    FUZZ_EXPECT(x && y);
    for (size_t i = 0; i < ROWS * dim_y; i++) y[i] = jf_model_classes(m) ? jf_model_label(m, 0) : 0;
    if (jf_sample(m, ROWS, y, x, NULL, NULL, NULL) == JF_OK) {
        fuzz_expect_finite(x, ROWS * dim_x);
        if (jf_density(m, ROWS, x, y, log_p, NULL, NULL) == JF_OK) fuzz_expect_finite(log_p, ROWS);
    }
    if (jf_model_info(&words, m) == JF_OK) free(words);
    free(x);
    free(y);
}

static jf_status load(jf_context *ctx, const char *path) {
    jf_model *m;
    JF_TRY(jf_model_load(&m, ctx, path, &(jf_load_options){.size = sizeof(jf_load_options), .threads = 1}));
    use(m);
    jf_model_free(m);
    return JF_OK;
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    jf_status status = load(ctx, in->path);
    uint8_t *mended = status == JF_OK ? NULL : fuzz_mended(in, jf_context_error(ctx));
    if (mended) {
        fuzz_put(in, mended, in->size);
        status = load(ctx, in->path);
    }
    free(mended);
    return status;
}

static jf_status example(jf_context *ctx, const char *path, int index) {
    (void)ctx;
    model *m = fuzz_model_of(recipes[index]);
    jf_status status = model_save(m, path);
    fuzz_model_free(m);
    return status;
}

const fuzz_reader fuzz_model = {.name = "model",
                                .file = "input.safetensors",
                                .most_bytes = 81920,
                                .read = read_input,
                                .example = example,
                                .examples = sizeof recipes / sizeof *recipes};
