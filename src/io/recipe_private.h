/* What the files of the recipe module share. Nobody else includes this. */
#ifndef JF_IO_RECIPE_PRIVATE_H
#define JF_IO_RECIPE_PRIVATE_H

#include "io/recipe.h"

/* lines of values that were not read from the file: set by hand; suggested, and ignored where the key does
 * not apply */
enum { RECIPE_BY_HAND = 0, RECIPE_SUGGESTED = -1 };

typedef struct recipe_entry {
    char *key, *value; /* key: "section.name" */
    int line;
} recipe_entry;

typedef struct recipe_table {
    const recipe_key *keys;
    char *only_if; /* "section.key=value" or NULL */
} recipe_table;

struct jf_recipe {
    jf_context *ctx;
    char *name;
    recipe_entry *entries; /* no key twice */
    size_t entry_count, entry_capacity;
    recipe_table *tables;
    size_t table_count, table_capacity;
    memory_rows *rows; /* recipe_set_rows() */
    int foreign;       /* recipe_distrust() */
};

/* What a declaration says about a key. */
typedef struct recipe_found {
    const recipe_key *key; /* NULL: not declared */
    const recipe_table *table;
    int applies; /* the table's condition holds */
} recipe_found;

recipe_entry *recipe_find_entry(const recipe *r, const char *dotted_key);
jf_status recipe_add_entry(recipe *r, const char *dotted_key, const char *value, int line);
/* The first declaration that applies, else the first of any. */
recipe_found recipe_find_key(const recipe *r, const char *dotted_key);
int recipe_table_applies(const recipe *r, const recipe_table *table);

int recipe_key_is(const recipe_key *key, const char *dotted_key);
int recipe_valid_name(const char *name, size_t length); /* a letter, then letters, digits, '_', '-' */
int recipe_read_bool(const char *value);                /* 1, 0, or -1: neither */
/* Word number `index` of a list separated by spaces or commas: its start, NULL where there is none. */
const char *recipe_find_word(const char *list, int index, size_t *length);
/* "a number from 0 to 1" */
void recipe_describe(const recipe_key *key, text *out);

#endif
