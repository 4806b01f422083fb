#include "nearest.h"
#include <ctype.h>
#include <limits.h>
#include <string.h>

enum { LONGEST_COMPARED = 64 };

/* What it costs to insert, delete or change a character: "sed" is rather "seed" than "set". */
enum { INSERT = 2, CHANGE = 3 };

/* Least cost of turning a into b (Levenshtein), ignoring case. */
static int edit_cost(const char *a, const char *b) {
    size_t m = strlen(a), n = strlen(b);
    if (m > LONGEST_COMPARED || n > LONGEST_COMPARED) return INT_MAX;
    int row[LONGEST_COMPARED + 1];
    for (size_t j = 0; j <= n; j++) row[j] = INSERT * (int)j;
    for (size_t i = 1; i <= m; i++) {
        int diagonal = row[0];
        row[0] = INSERT * (int)i;
        for (size_t j = 1; j <= n; j++) {
            int same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            int change = diagonal + (same ? 0 : CHANGE);
            int shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + INSERT;
            diagonal = row[j];
            row[j] = change < shorter ? change : shorter;
        }
    }
    return row[n];
}

nearest nearest_begin(const char *word) {
    return (nearest){.word = word, .cost = INSERT * (2 + (int)strlen(word) / 4)};
}

void nearest_try(nearest *n, const char *candidate) {
    int cost = edit_cost(n->word, candidate);
    if (cost >= INSERT * (int)strlen(candidate)) return; /* nothing in common */
    if (cost < n->cost || (!n->best && cost == n->cost)) {
        n->best = candidate;
        n->cost = cost;
    }
}
