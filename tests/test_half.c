/* Half precision: numbers, tensors and whole models. */
#include "base/file.h"
#include "base/half.h"
#include "flow_fixture.h"
#include "io/safetensors.h"
#include "jointflow/jointflow.h"
#include "model/model.h"
#include <math.h>

TEST(half__every_half_becomes_a_float_and_comes_back) {
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float value = float_of_half((uint16_t)bits);
        if (isnan(value))
            CHECK((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) && isnan(float_of_half(half_of_float(value))));
        else
            CHECK(half_of_float(value) == bits);
    }
    CHECK(float_of_half(0x3c00) == 1 && float_of_half(0xc000) == -2 && float_of_half(0x7bff) == 65504);
    CHECK(float_of_half(0x0001) == 0x1p-24f && isinf(float_of_half(0x7c00)));
}

/* Between two neighbours the nearer one; half-way the one with an even last bit. */
TEST(half__rounds_to_the_nearest) {
    for (uint16_t low = 0; low < 0x7bff; low++) {
        float a = float_of_half(low), b = float_of_half((uint16_t)(low + 1)), middle = (a + b) / 2;
        uint16_t even = low & 1 ? (uint16_t)(low + 1) : low;
        CHECK(half_of_float(middle) == even && half_of_float(-middle) == (even | 0x8000));
        CHECK(half_of_float(nextafterf(middle, 0)) == low);
        CHECK(half_of_float(nextafterf(middle, INFINITY)) == low + 1);
    }
    CHECK(half_of_float(65519.996f) == 0x7bff && half_of_float(65520) == 0x7c00 &&
          half_of_float(INFINITY) == 0x7c00);
}

TEST(half__tensors_come_back_from_a_file) {
    static const uint16_t halves[3] = {0x3c00, 0xc000, 0x0001};
    static const tensor t = {"a", TENSOR_F16, 1, {3}, halves};
    jf_context *ctx = NULL;
    tensor_file *file = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(tensors_write(ctx, test_path("t"), &t, 1, NULL, 0), JF_OK);
    CHECK_STATUS(tensors_read(ctx, &file, test_path("t")), JF_OK);
    const tensor *found = tensors_find(file, "a");
    CHECK(found && found->type == TENSOR_F16 && tensor_elements(found) == 3);
    CHECK(tensor_value(found, 0) == 1 && tensor_value(found, 1) == -2 && tensor_value(found, 2) == 0x1p-24);
    tensors_free(file);
    jf_context_free(ctx);
}

static jf_model *golden(jf_context *ctx) {
    jf_model *m = NULL;
    CHECK_STATUS(jf_model_load(&m, ctx, JF_TESTS_DIR "/golden/models/vector.safetensors", NULL), JF_OK);
    return m;
}

static double *weights_of(const jf_model *m) {
    double *values = new_numbers(m->parameters.total);
    m->d->kind->get(m->d, values, m->params, m->parameters.total);
    return values;
}

/* Those of large tensors; the few numbers that act on whole layers stay as they are. */
TEST(half__a_model_has_its_weights_rounded_and_nothing_else_changed) {
    jf_context *ctx = NULL;
    jf_model *loaded = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    jf_model *m = golden(ctx);
    CHECK_STATUS(jf_model_save_half(m, test_path("half.safetensors")), JF_OK);
    CHECK_STATUS(jf_model_load(&loaded, ctx, test_path("half.safetensors"), NULL), JF_OK);
    double *before = weights_of(m), *after = weights_of(loaded);
    int changed = 0, kept = 0;
    for (int k = 0; k < m->parameters.count; k++) {
        const param *p = &m->parameters.items[k];
        for (size_t i = p->offset; i < p->offset + p->count; i++) {
            double rounded = float_of_half(half_of_float((float)before[i]));
            CHECK(after[i] == (p->count > 16 ? rounded : before[i]));
            changed += after[i] != before[i];
            kept += after[i] != rounded;
        }
    }
    CHECK(changed > 0 && kept > 0);
    for (int i = 0; i < 3; i++)
        CHECK(loaded->units.mean[i] == m->units.mean[i] &&
              loaded->units.deviation[i] == m->units.deviation[i]);
    free(before), free(after);
    jf_model_free(m);
    jf_model_free(loaded);
    jf_context_free(ctx);
}

TEST(half__weights_beyond_its_range_are_refused_by_name) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    jf_model *m = golden(ctx);
    double *values = weights_of(m);
    values[m->parameters.items[0].offset] = 7e4;
    m->d->kind->put(m->d, m->params, values, m->parameters.total);
    CHECK_STATUS(jf_model_save_half(m, test_path("half.safetensors")), JF_ERROR_NUMERIC);
    CHECK_HAS(jf_context_error(ctx), m->parameters.items[0].name);
    CHECK(!file_exists(test_path("half.safetensors")));
    CHECK_STATUS(jf_model_save(m, test_path("whole.safetensors")), JF_OK);
    free(values);
    jf_model_free(m);
    jf_context_free(ctx);
}
