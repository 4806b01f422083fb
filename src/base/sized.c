#include "base/sized.h"
#include <string.h>

/* No struct is that large: it was not set. */
#define MOST_BYTES 65536

static size_t size_of(const void *sized) {
    size_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

static jf_status check_size(jf_context *ctx, size_t size, const char *type) {
    if (size >= sizeof size && size <= MOST_BYTES) return JF_OK;
    return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: its field size is %zu, expected sizeof(%s)", type, size,
                   type);
}

jf_status sized_take(jf_context *ctx, void *to, size_t size, const void *from, const char *type) {
    const char *bytes = from;
    memset(to, 0, size);
    if (!from) return JF_OK;
    size_t given = size_of(from);
    JF_TRY(check_size(ctx, given, type));
    memcpy(to, from, given < size ? given : size);
    for (size_t i = size; i < given; i++)
        if (bytes[i])
            return jf_fail(ctx, JF_ERROR_ARGUMENT,
                           "%s: a field beyond byte %zu is set, which this version of the library does not "
                           "know: expected 0, or a later library",
                           type, size);
    return JF_OK;
}

jf_status sized_begin(jf_context *ctx, void *out, const char *type) {
    size_t size = size_of(out);
    JF_TRY(check_size(ctx, size, type));
    memset(out, 0, size);
    memcpy(out, &size, sizeof size);
    return JF_OK;
}

void sized_give(void *out, const void *from, size_t size) {
    size_t room = size_of(out);
    memcpy(out, from, size < room ? size : room);
    memcpy(out, &room, sizeof room);
}

jf_status needs_each(jf_context *ctx, const char *function, const char *name, const void *list,
                     size_t count) {
    if (count > 0 && !list)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: the argument %s is NULL, expected %zu in it", function,
                       name, count);
    for (size_t i = 0; i < count; i++) {
        void *item;
        memcpy(&item, (const char *)list + i * sizeof item, sizeof item);
        if (!item)
            return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: the argument %s[%zu] is NULL", function, name, i);
    }
    return JF_OK;
}
