/* Recipes: the text files that describe an experiment.
 *
 *     # comment
 *     [section]
 *     key = value        ; rest of the line after " #" or " ;" is comment
 *
 * Keys are declared in tables (one table per module that reads them); a recipe is checked against all tables
 * at once, so that unknown keys and wrong values are refused with file, line, what was found and what is
 * allowed. Values are kept as text and read through typed getters, which cannot fail once recipe_check() has
 * passed. */
#ifndef JF_IO_RECIPE_H
#define JF_IO_RECIPE_H

#include "base/context.h"
#include "base/memory.h"
#include "io/memory_rows.h"
#include "types/recipe_key.h"

typedef struct jf_recipe recipe; /* public name: jf_recipe */

jf_status recipe_create(jf_context *ctx, recipe **out, const char *name);
jf_status recipe_load(jf_context *ctx, recipe **out, const char *path);
jf_status recipe_parse(jf_context *ctx, recipe **out, const char *text, const char *name);
jf_status recipe_clone(recipe **out, const recipe *r);
void recipe_free(recipe *r);
/* "section.key"; wins over the file. */
jf_status recipe_set(recipe *r, const char *dotted_key, const char *value);
/* The same for a default that depends on the case at hand: where the key does not apply, after whatever is
 * set later, it is ignored instead of refused. */
jf_status recipe_suggest(recipe *r, const char *dotted_key, const char *value);
/* It came with a model file, which a stranger may have written; and so did its copies. Those whose files the
 * user named since are not (recipe_trust). */
void recipe_distrust(recipe *r);
void recipe_trust(recipe *r);
int recipe_is_foreign(const recipe *r);
/* Rows in memory that the recipe's data are made of, which it holds, and so do its copies; NULL: none. */
void recipe_set_rows(recipe *r, memory_rows *rows);
memory_rows *recipe_rows(const recipe *r);
/* Declares a table as allowed (pointer kept). `only_if`: NULL, or "section.key=value" under which the table
 * applies; a key used outside it is refused with that condition in the message. */
jf_status recipe_declare(recipe *r, const recipe_key *keys, const char *only_if);
/* Declares the keys of one choice of a key; they apply where that is chosen. keys NULL: it has none. */
jf_status recipe_declare_choice(recipe *r, const char *dotted_key, const char *choice,
                                const recipe_key *keys);
jf_status recipe_check(const recipe *r);
/* Refuses a recipe without a value of its own for each key that applies: one from a file may not depend on
 * defaults, which another version may have changed. */
jf_status recipe_check_complete(const recipe *r);
/* All declared keys that apply, with their values, as recipe text that recipe_parse() reads back. */
void recipe_write(const recipe *r, text *out, int with_docs);

jf_context *recipe_context(const recipe *r);
const char *recipe_name(const recipe *r);       /* the file as it was given: for messages */
const char *recipe_short_name(const recipe *r); /* without its folders: for people and model files */
int recipe_line(const recipe *r, const char *dotted_key);        /* 0: default or set by hand */
const char *recipe_get(const recipe *r, const char *dotted_key); /* NULL: not declared */
int recipe_int(const recipe *r, const char *dotted_key);
double recipe_real(const recipe *r, const char *dotted_key); /* NAN: a word that stands for a number */
int recipe_bool(const recipe *r, const char *dotted_key);
int recipe_is(const recipe *r, const char *dotted_key, const char *word);
int recipe_words(const recipe *r, const char *dotted_key, int index, char *word,
                 size_t size); /* 0: no such word */
/* A failure about a key that only its reader can find: "FILE:LINE: section.key: message". */
jf_status recipe_fail(const recipe *r, const char *dotted_key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
