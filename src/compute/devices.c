/* The list of devices. A new one is a folder beside ref/ and cpu/, and a line here. The first one is the default. */
#include "base/memory.h"
#include "compute/compute.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const device_kind device_cpu, device_ref;

const device_kind *const device_kinds[] = {&device_cpu, &device_ref, NULL};

jf_status device_open(jf_context *ctx, device **out, const char *name, int threads) {
    *out = NULL;
    const device_kind *kind = NULL;
    if (!name) name = device_kinds[0]->name;
    text known = {0};
    for (int i = 0; device_kinds[i]; i++) {
        if (strcmp(device_kinds[i]->name, name) == 0) kind = device_kinds[i];
        text_add(&known, "%s%s", i ? ", " : "", device_kinds[i]->name);
    }
    jf_status status = JF_OK;
    if (!kind)
        status = jf_fail(ctx, JF_ERROR_DEVICE, "unknown device \"%s\"; this build has: %s", name,
                         known.chars ? known.chars : "");
    text_free(&known);
    JF_TRY(status);
    return device_open_kind(ctx, out, kind, threads);
}

jf_status device_open_kind(jf_context *ctx, device **out, const device_kind *kind, int threads) {
    *out = NULL;
    device *d;
    JF_TRY(MEM_NEW(ctx, &d, 1));
    d->kind = kind;
    d->ctx = ctx;
    jf_status status = kind->open(d, threads);
    if (status != JF_OK) {
        free(d);
        return status;
    }
    *out = d;
    return JF_OK;
}

void device_describe(const device *d, char out[DEVICE_MAX_WORDS]) {
    char words[DEVICE_MAX_WORDS / 2];
    d->kind->describe(d, words, sizeof words);
    snprintf(out, DEVICE_MAX_WORDS, "%s (%s)", d->kind->name, words);
}

void device_close(device *d) {
    if (!d) return;
    d->kind->close(d);
    free(d);
}
