/* The list of devices. A new one is a folder beside ref/ and cpu/, and a line here. The first one is the
 * default. */
#include "base/memory.h"
#include "compute/compute.h"
#include "compute/place.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const device_kind device_cpu, device_ref, device_cuda;

const device_kind *const device_kinds[] = {
    &device_cpu,
    &device_ref,
#ifdef JF_HAVE_CUDA
    &device_cuda,
#endif
    NULL,
};

int device_is_missing(const device_kind *kind, char *why, size_t size) {
    char unheard[256];
    if (!why) why = unheard, size = sizeof unheard;
    if (size > 0) *why = '\0';
    return kind->missing && kind->missing(0, why, size);
}

/* ---- names ---- */

static const device_kind *kind_named(const char *name, size_t length) {
    for (int i = 0; device_kinds[i]; i++)
        if (strlen(device_kinds[i]->name) == length && strncmp(device_kinds[i]->name, name, length) == 0)
            return device_kinds[i];
    return NULL;
}

/* A GPU where there is one: of all kinds the one that can be missing is the fastest. */
static const device_kind *fastest_kind(void) {
    for (int i = 0; device_kinds[i]; i++)
        if (device_kinds[i]->missing && !device_is_missing(device_kinds[i], NULL, 0)) return device_kinds[i];
    return device_kinds[0];
}

static jf_status fail_unknown(jf_context *ctx, const char *name) {
    text known = {0};
    for (int i = 0; device_kinds[i]; i++) text_add(&known, "%s%s", i ? ", " : "", device_kinds[i]->name);
    jf_status status =
        jf_fail(ctx, JF_ERROR_DEVICE, "unknown device \"%s\"; this build has: %s, auto%s", name,
                known.chars ? known.chars : "", kind_named("cuda", 4) ? "" : "; it was made without CUDA");
    text_free(&known);
    return status;
}

/* "NAME" or "NAME:index", where the kind can have several. */
static const device_kind *parse_name(const char *name, int *index) {
    const char *colon = strchr(name, ':');
    char *end = NULL;
    *index = 0;
    const device_kind *kind = kind_named(name, colon ? (size_t)(colon - name) : strlen(name));
    if (!colon || !kind) return kind;
    if (!kind->missing || colon[1] < '0' || colon[1] > '9') return NULL;
    long number = strtol(colon + 1, &end, 10);
    if (*end || number > 1023) return NULL;
    *index = (int)number;
    return kind;
}

/* How many of a kind there are here: 0 of those that are everywhere. */
static int count_of_kind(const device_kind *kind) {
    char why[256];
    int count = 0;
    while (kind->missing && count < 1024 && !kind->missing(count, why, sizeof why)) count++;
    return count;
}

const char *device_name_at(const char *name, int place, char out[DEVICE_MAX_NAME]) {
    if (!name || strchr(name, ':') || place == 0) return name;
    const device_kind *kind = strcmp(name, "auto") == 0 ? fastest_kind() : kind_named(name, strlen(name));
    int count = kind ? count_of_kind(kind) : 0;
    if (count < 2) return name;
    snprintf(out, DEVICE_MAX_NAME, "%s:%d", kind->name, place % count);
    return out;
}

/* ---- opening and closing ---- */

static jf_status open_numbered(jf_context *ctx, device **out, const device_kind *kind, int index,
                               int threads) {
    *out = NULL;
    device *d;
    JF_TRY(MEM_NEW(ctx, &d, 1));
    d->kind = kind;
    d->ctx = ctx;
    d->index = index;
    d->process = getpid();
    jf_status status = kind->open(d, threads);
    if (status != JF_OK) {
        free(d);
        return status;
    }
    *out = d;
    return JF_OK;
}

jf_status device_open(jf_context *ctx, device **out, const char *name, int threads) {
    int index = 0;
    *out = NULL;
    const device_kind *kind = !name                       ? device_kinds[0]
                              : strcmp(name, "auto") == 0 ? fastest_kind()
                                                          : parse_name(name, &index);
    return kind ? open_numbered(ctx, out, kind, index, threads) : fail_unknown(ctx, name);
}

jf_status device_open_kind(jf_context *ctx, device **out, const device_kind *kind, int threads) {
    return open_numbered(ctx, out, kind, 0, threads);
}

/* ---- precisions ---- */

const char *const precision_names[PRECISION_COUNT] = {
    [PRECISION_FP32] = "fp32", [PRECISION_TF32] = "tf32", [PRECISION_BF16] = "bf16"};

int precision_find(const char *name) {
    for (int i = 0; i < PRECISION_COUNT; i++)
        if (strcmp(precision_names[i], name) == 0) return i;
    return -1;
}

int device_has_precision(const device_kind *kind, precision in) {
    return in == PRECISION_FP32 || (kind->precisions >> in & 1);
}

/* ---- in words ---- */

/* "NAME (WORDS)", of which further words are the last. */
static void describe_with(const device *d, const char *further, char out[DEVICE_MAX_WORDS]) {
    char words[DEVICE_MAX_WORDS / 2];
    d->kind->describe(d, words, sizeof words);
    snprintf(out, DEVICE_MAX_WORDS, "%s (%s%s)", d->kind->name, words, further);
}

void device_describe(const device *d, char out[DEVICE_MAX_WORDS]) {
    describe_with(d, "", out);
}

void device_describe_at(const device *d, precision in, char out[DEVICE_MAX_WORDS]) {
    char further[32];
    snprintf(further, sizeof further, "; products in %s", precision_names[in]);
    describe_with(d, d->kind->precisions ? further : "", out);
}

/* ---- processes ---- */

jf_status device_check_process(const device *d) {
    if (!d->kind->memory || d->process == getpid()) return JF_OK;
    return jf_fail(
        d->ctx, JF_ERROR_DEVICE,
        "device \"%s\" was opened before this process was forked, expected after: a forked process "
        "cannot use it; load the model on another device",
        d->kind->name);
}

/* ---- the end ---- */

void device_close(device *d) {
    if (!d) return;
    d->kind->close(d);
    free(d);
}
