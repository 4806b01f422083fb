/* "did you mean": the known word that is nearest to a misspelt one. */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

typedef struct nearest {
    const char *word; /* as it was written */
    const char *best; /* the nearest candidate so far; NULL: none is near */
    int cost;         /* of turning the one into the other */
} nearest;

nearest nearest_begin(const char *word);
void nearest_try(nearest *n, const char *candidate);

#endif
