/* A key of a recipe, as the module that reads it declares it: a row of a table. io/recipe.h checks and reads
 * recipes by such tables; modules below io, such as coupling laws, only have to state theirs. */
#ifndef JF_TYPES_RECIPE_KEY_H
#define JF_TYPES_RECIPE_KEY_H

typedef enum key_type { KEY_INT, KEY_REAL, KEY_BOOL, KEY_CHOICE, KEY_WORDS, KEY_TEXT } key_type;

typedef struct recipe_key {
    const char *section, *name;
    key_type type;
    const char *fallback; /* the default, as a recipe would write it; NULL: must be given */
    double lo, hi;        /* KEY_INT, KEY_REAL: inclusive range; both 0: any finite number */
    /* KEY_CHOICE, KEY_WORDS: the allowed words, separated by spaces; NULL: any (KEY_WORDS). KEY_REAL: those
     * that may stand for a number; NULL: none. */
    const char *choices;
    const char *doc; /* one sentence */
} recipe_key;        /* a table ends with {0} */

#endif
