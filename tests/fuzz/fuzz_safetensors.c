/* Safetensors: every tensor and note that a file has. */
#include "fuzz.h"
#include "io/safetensors.h"
#include <stdint.h>
#include <string.h>

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    tensor_file *file;
    JF_TRY(tensors_read(ctx, &file, in->path));
    for (size_t i = 0; i < tensors_count(file); i++) {
        const tensor *t = tensors_at(file, i);
        FUZZ_EXPECT(t->rank <= TENSOR_MAX_RANK && *tensor_type_name(t->type));
        FUZZ_EXPECT((uintptr_t)t->data % 64 == 0 || tensor_elements(t) == 0);
        fuzz_touch(t->data, tensor_elements(t) * tensor_type_size(t->type));
        FUZZ_EXPECT(tensors_find(file, t->name) == t);
    }
    const char *note = tensors_note(file, "note");
    if (note) fuzz_touch(note, strlen(note));
    tensors_free(file);
    return JF_OK;
}

static jf_status example(jf_context *ctx, const char *path, int index) {
    const double reals[6] = {1, 2, 3, 4, 5, 6};
    const int32_t whole[3] = {-1, 0, 1};
    const tensor tensors[] = {{"reals", TENSOR_F64, 2, {2, 3}, reals}, {"whole", TENSOR_I32, 1, {3}, whole}};
    const tensor_note notes[] = {{"note", "of this file"}};
    return tensors_write(ctx, path, tensors, 2, notes, (size_t)index);
}

const fuzz_reader fuzz_safetensors = {.name = "safetensors",
                                      .file = "input.safetensors",
                                      .most_bytes = 2048,
                                      .read = read_input,
                                      .example = example,
                                      .examples = 2};
