#include "types/y_axes.h"
#include <stdio.h>
#include <stdlib.h>

int y_axes_parse(const char *words, y_axes *out) {
    *out = (y_axes){0};
    for (const char *at = words;; at++) {
        char *end;
        long size = strtol(at, &end, 10);
        if (out->rank == Y_AXES_MOST || *at < '1' || *at > '9' || size < 1 || size > 1 << 22) return 0;
        out->size[out->rank++] = (int)size;
        if (*end == '\0') return 1;
        if (*end != 'x') return 0;
        at = end;
    }
}

const char *y_axes_words(const y_axes *a, char out[Y_AXES_WORDS]) {
    int used = 0;
    out[0] = '\0';
    for (int i = 0; i < a->rank; i++)
        used += snprintf(out + used, (size_t)(Y_AXES_WORDS - used), "%s%d", i ? "x" : "", a->size[i]);
    return out;
}

double y_axes_numbers(const y_axes *a) {
    double product = 1;
    for (int i = 0; i < a->rank; i++) product *= a->size[i];
    return product;
}

static int rank_without_last_one(const y_axes *a) {
    return a->rank > 1 && a->size[a->rank - 1] == 1 ? a->rank - 1 : a->rank;
}

int y_axes_same(const y_axes *a, const y_axes *b) {
    int rank = rank_without_last_one(a), same = rank == rank_without_last_one(b);
    for (int i = 0; same && i < rank; i++) same = a->size[i] == b->size[i];
    return same;
}
