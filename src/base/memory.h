/* Checked allocation: sizes are multiplied with an overflow check, memory is zeroed, failure leaves a
 * message. */
#ifndef JF_BASE_MEMORY_H
#define JF_BASE_MEMORY_H

#include "base/context.h"

jf_status mem_alloc(jf_context *ctx, void *out, size_t count, size_t size); /* out: T ** */
jf_status mem_copy_text(jf_context *ctx, char **out, const char *text);

/* JF_TRY(MEM_NEW(ctx, &array, n)) */
#define MEM_NEW(ctx, out, count) mem_alloc((ctx), (out), (count), sizeof **(out))

/* A string that grows. A failed allocation sets `failed` and later calls do nothing: check once, at the end.
 */
typedef struct text {
    char *chars; /* always terminated once something was added */
    size_t length, capacity;
    int failed;
} text;
void text_add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_chars(text *t, const char *chars, size_t n);
void text_add_number(text *t, double value);          /* number_shortest() */
jf_status text_check(jf_context *ctx, const text *t); /* JF_ERROR_MEMORY if anything was lost */
void text_free(text *t);

#endif
