#include "base/tree.h"

enum { CHUNK = 1024, LEVELS = 11 }; /* numbers that go through the tree together; 2^10 arrays */
_Static_assert(1 << (LEVELS - 1) == TREE_MOST, "a level for each power of two");

int tree_power(int size) {
    int power = 1;
    while (power <= size / 2) power *= 2;
    return power;
}

/* An array at an odd place takes in the sums that wait at its left: with array 3 array 2, then the sum of 0 and 1. What is not whole
 * yet waits itself, array 2 where it lies. */
#define TREE_SUM(name, number)                                                                               \
    static void name##_pair(number *to, const number *a, const number *b, size_t count) {                    \
        for (size_t i = 0; i < count; i++) to[i] = a[i] + b[i];                                              \
    }                                                                                                        \
    static void name##_chunk(number *to, const number *const *arrays, int size, size_t at, size_t count) {   \
        number sums[LEVELS][CHUNK], spare[CHUNK];                                                            \
        const number *waiting[LEVELS] = {0};                                                                 \
        int power = tree_power(size);                                                                        \
        for (int i = 0; i < power; i++) {                                                                    \
            const number *whole = arrays[i] + at;                                                            \
            int level = 0, last = i + 1 == power, depth = 0;                                                 \
            while (i >> depth & 1) depth++;                                                                  \
            if (i + power < size) {                                                                          \
                number *leaf = depth ? spare : last ? to : sums[0];                                          \
                name##_pair(leaf, whole, arrays[i + power] + at, count);                                     \
                whole = leaf;                                                                                \
            }                                                                                                \
            for (; level < depth; level++) {                                                                 \
                number *sum = last ? to : sums[depth];                                                       \
                name##_pair(sum, waiting[level], whole, count);                                              \
                whole = sum;                                                                                 \
            }                                                                                                \
            waiting[depth] = whole;                                                                          \
        }                                                                                                    \
        for (size_t i = 0; size == 1 && i < count; i++) to[i] = arrays[0][at + i];                           \
    }                                                                                                        \
    void tree_sum_##name(number *to, const number *const *arrays, int size, size_t begin, size_t count) {    \
        for (size_t done = 0, n; done < count; done += n) {                                                  \
            n = count - done < CHUNK ? count - done : CHUNK;                                                 \
            name##_chunk(to + done, arrays, size, begin + done, n);                                          \
        }                                                                                                    \
    }
TREE_SUM(floats, float)
TREE_SUM(doubles, double)
