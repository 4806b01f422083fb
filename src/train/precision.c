/* What a run computes in, by its recipe and its device. */
#include "train/train_memory.h"

precision train_precision(const model *m) {
    int found = precision_find(recipe_get(m->recipe, "train.precision"));
    return found < 0 ? m->d->kind->training : (precision)found; /* auto */
}

precision train_products(const model *m) {
    return recipe_is(m->recipe, "model.net", "resnext") ? train_precision(m) : PRECISION_FP32;
}

jf_status train_check_precision(const model *m) {
    const device_kind *kind = m->d->kind;
    precision wanted = train_precision(m);
    text has = {0};
    if (device_has_precision(kind, wanted)) return JF_OK;
    for (int i = 0; i < PRECISION_COUNT; i++)
        if (device_has_precision(kind, (precision)i))
            text_add(&has, "%s%s", has.length > 0 ? ", " : "", precision_names[i]);
    jf_status status = text_check(m->ctx, &has);
    if (status == JF_OK)
        status = recipe_fail(m->recipe, "train.precision", "found %s, expected what device %s has: auto, %s",
                             precision_names[wanted], kind->name, has.chars);
    text_free(&has);
    return status;
}

run_use train_run_use(const model *m) {
    return (run_use){.backward = 1, .keep_mib = train_keep(m->recipe, m->d), .precision = train_precision(m)};
}
