#include "fuzz.h"
#include <string.h>

/* A new reader is a file and a line in both lists. */
extern const fuzz_reader fuzz_recipe, fuzz_csv, fuzz_table, fuzz_npy, fuzz_json, fuzz_safetensors, fuzz_model,
    fuzz_checkpoint, fuzz_history, fuzz_idx, fuzz_gzip, fuzz_png, fuzz_jpeg, fuzz_conditions, fuzz_arguments,
    fuzz_answers, fuzz_request, fuzz_bounds;

const fuzz_reader *const fuzz_readers[] = {
    &fuzz_recipe, &fuzz_csv,        &fuzz_table,     &fuzz_npy,     &fuzz_json,    &fuzz_safetensors,
    &fuzz_model,  &fuzz_checkpoint, &fuzz_history,   &fuzz_idx,     &fuzz_gzip,    &fuzz_png,
    &fuzz_jpeg,   &fuzz_conditions, &fuzz_arguments, &fuzz_answers, &fuzz_request, &fuzz_bounds,
    NULL,
};

const fuzz_reader *fuzz_reader_find(const char *name) {
    for (int i = 0; fuzz_readers[i]; i++)
        if (strcmp(fuzz_readers[i]->name, name) == 0) return fuzz_readers[i];
    return NULL;
}
