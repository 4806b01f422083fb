/* The list of transforms: a new one is a file in this folder that defines `transform_NAME`, and one line
 * here. */
#include "flow/transform.h"
#include <stdlib.h>
#include <string.h>

#define TRANSFORM_LIST(X)                                                                                    \
    X(coupling, "networks transform a part of the elements, given the others")                               \
    X(actnorm, "a scale and a shift for each element or channel, from the first batch on")                   \
    X(mixing, "a linear map of all elements, or of the channels")

#define X(name, summary) extern const transform_kind transform_##name;
TRANSFORM_LIST(X)
#undef X

#define X(name, summary) &transform_##name,
const transform_kind *const transform_kinds[] = {TRANSFORM_LIST(X) NULL};
#undef X

static const recipe_key keys[] = {
#define X(name, summary) " " #name
    {"model", "transforms", KEY_WORDS, "coupling", 0, 0, TRANSFORM_LIST(X),
#undef X
#define X(name, summary) " " #name ": " summary "."
     "The transforms of each step of the flow, in their order; a step is one mask." TRANSFORM_LIST(X)},
#undef X
    {0}};

jf_status transforms_declare(recipe *r) {
    JF_TRY(recipe_declare(r, keys, NULL));
    for (int i = 0; transform_kinds[i]; i++)
        JF_TRY(
            recipe_declare_choice(r, "model.transforms", transform_kinds[i]->name, transform_kinds[i]->keys));
    return JF_OK;
}

const transform_kind *transform_find(const char *name) {
    for (int i = 0; transform_kinds[i]; i++)
        if (strcmp(transform_kinds[i]->name, name) == 0) return transform_kinds[i];
    return NULL;
}

jf_status transforms_of_step(const recipe *r, const transform_kind *kinds[TRANSFORMS_PER_STEP], int *count) {
    char word[32];
    int bends = 0;
    for (*count = 0; recipe_words(r, "model.transforms", *count, word, sizeof word); (*count)++) {
        if (*count == TRANSFORMS_PER_STEP)
            return recipe_fail(r, "model.transforms", "found more than %d words", TRANSFORMS_PER_STEP);
        kinds[*count] = transform_find(word);
        if (!kinds[*count])
            return recipe_fail(r, "model.transforms", "found \"%s\", expected words out of%s", word,
                               keys[0].choices);
        bends |= kinds[*count]->nonlinear;
    }
    if (!bends)
        return recipe_fail(r, "model.transforms",
                           "found \"%s\", which makes a linear map; expected a coupling among them",
                           recipe_get(r, "model.transforms"));
    return JF_OK;
}

jf_status transform_create(jf_context *ctx, transform *out, const transform_kind *kind, device *d,
                           const transform_spec *spec, const recipe *r, param_list *params) {
    *out = (transform){.kind = kind, .dim = spec->dim};
    return kind->create(ctx, out, d, spec, r, params);
}

void transform_free(transform *t, device *d) {
    if (t->kind && t->kind->free) t->kind->free(t, d);
}

size_t transform_workspace(const transform *t, const device *d, int n, layer_use use) {
    return t->kind->workspace ? t->kind->workspace(t, d, n, use) : 0;
}

size_t transform_saved(const transform *t, const device *d, int n, precision in) {
    return t->kind->saved ? t->kind->saved(t, d, n, in) : 0;
}

void steps_free(flow_steps *s) {
    for (int i = 0; i < s->count; i++) {
        if (s->specs[i].shares) continue;
        free((int32_t *)s->specs[i].active);
        free((int32_t *)s->specs[i].source);
        free((int32_t *)s->specs[i].target);
    }
    free(s->specs);
    *s = (flow_steps){0};
}
