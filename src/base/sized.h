/* Structs of the public interface that begin with their size, so that they can grow: programs and the library
 * may have been compiled with different versions of one.
 *
 * Taken from a caller, what is missing at the end is 0, the default, and what is new to this library has to
 * be 0. Given to a caller, what has no place in its struct is left out. */
#ifndef JF_BASE_SIZED_H
#define JF_BASE_SIZED_H

#include "base/context.h"
#include <limits.h>

/* from NULL: all 0. */
#define SIZED_TAKE(ctx, type, to, from) sized_take((ctx), (to), sizeof(type), (from), #type)
jf_status sized_take(jf_context *ctx, void *to, size_t size, const void *from, const char *type);

/* Of a result: whether the caller has set its size, before anything is computed. It is then emptied. */
#define SIZED_BEGIN(ctx, type, out) sized_begin((ctx), (out), #type)
jf_status sized_begin(jf_context *ctx, void *out, const char *type);
#define SIZED_GIVE(type, out, from) sized_give((out), (from), sizeof(type))
void sized_give(void *out, const void *from, size_t size);

/* Refuses a list of `count` pointers that is NULL or holds NULL, such as a field of options. */
#define JF_NEEDS_EACH(ctx, list, count) JF_TRY(needs_each((ctx), __func__, #list, (list), (count)))
jf_status needs_each(jf_context *ctx, const char *function, const char *name, const void *list, size_t count);

/* A count of the interface as the library has it; more than an int counts is refused for its size later on.
 */
static inline int count_as_int(size_t n) {
    return n > INT_MAX ? INT_MAX : (int)n;
}

#endif
