/* What a request asks for: the fields of a JSON object, each checked when it is read.
 *
 * The first field that is not as expected is remembered with a sentence; those after it are read as if
 * nothing was wrong, so that an answer reads all of its fields and looks once. */
#ifndef EXPLORE_ASK_H
#define EXPLORE_ASK_H

#include <jansson.h>
#include <stdint.h>

typedef struct ask {
    json_t *object;
    int refused;
    char why[256];
} ask;

/* Reads a body. Refuses what is not one JSON object. To be freed in both cases. */
void ask_read(ask *out, const char *bytes, size_t count);
void ask_free(ask *a);
void ask_refuse(ask *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

int ask_has(const ask *a, const char *name);
/* Within lo .. hi; the fallback where the field is not there. */
long ask_whole(ask *a, const char *name, long lo, long hi, long fallback);
double ask_real(ask *a, const char *name, double lo, double hi, double fallback);
int ask_flag(ask *a, const char *name); /* 0 where it is not there */
/* A seed is a whole number up to 2^64 - 1, which JSON numbers of browsers cannot hold: a text of digits, or a
 * number. */
uint64_t ask_seed(ask *a, const char *name);
const char *ask_text(ask *a, const char *name); /* "" where it is not there; borrowed */
/* An array of just so many finite numbers; zeros where it is refused. */
void ask_numbers(ask *a, const char *name, double *out, size_t count);
size_t ask_length(const ask *a, const char *name); /* of an array; 0 where there is none */

#endif
