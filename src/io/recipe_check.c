/* Checking a recipe against the declared keys, and saying clearly what is wrong. */
#include "base/number.h"
#include "io/recipe_private.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- messages ---- */

/* A key and where it was written: "FILE:LINE: KEY: ", "set KEY: " where it was set by hand, "FILE: KEY: "
 * where it has its default. */
static void add_key(const recipe *r, const recipe_entry *entry, const char *dotted_key, text *out) {
    char words[OPTION_WORDS];
    if (!entry)
        text_add(out, "%s: %s: ", r->name, dotted_key);
    else if (entry->line <= RECIPE_BY_HAND)
        text_add(out, "%s: ", option_words(r->ctx, OPTION_KEY, dotted_key, words));
    else
        text_add(out, "%s:%d: %s: ", r->name, entry->line, dotted_key);
}

/* Ends a message that was put together in `t`. */
static jf_status fail_text(const recipe *r, text *t) {
    jf_status status = text_check(r->ctx, t);
    if (status == JF_OK) status = jf_fail(r->ctx, JF_ERROR_RECIPE, "%s", t->chars);
    text_free(t);
    return status;
}

jf_status recipe_fail(const recipe *r, const char *dotted_key, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    number_vprint(message, sizeof message, format, arguments);
    va_end(arguments);
    text t = {0};
    add_key(r, recipe_find_entry(r, dotted_key), dotted_key, &t);
    text_add(&t, "%s", message);
    return fail_text(r, &t);
}

/* lo = hi = 0 is a table that names no range. */
static int has_range(const recipe_key *key) {
    return key->lo != 0 || key->hi != 0;
}

static void add_bound(const recipe_key *key, text *out, const char *word, double bound) {
    if (key->type == KEY_INT)
        text_add(out, " %s %.0f", word, bound);
    else
        text_add(out, " %s %g", word, bound);
}

static void add_range(const recipe_key *key, text *out) {
    if (!has_range(key)) return;
    if (isfinite(key->lo)) add_bound(key, out, isfinite(key->hi) ? "from" : "of at least", key->lo);
    if (isfinite(key->hi)) add_bound(key, out, isfinite(key->lo) ? "to" : "of at most", key->hi);
}

static void add_choices(const char *choices, text *out) {
    size_t length = 0;
    const char *word = NULL;
    for (int i = 0; (word = recipe_find_word(choices, i, &length)) != NULL; i++)
        text_add(out, "%s%.*s", i ? ", " : "", (int)length, word);
}

void recipe_describe(const recipe_key *key, text *out) {
    switch (key->type) {
    case KEY_INT:
        text_add(out, "a whole number");
        add_range(key, out);
        break;
    case KEY_REAL:
        if (key->choices) add_choices(key->choices, out);
        text_add(out, key->choices ? " or a number" : "a number");
        add_range(key, out);
        break;
    case KEY_BOOL:
        text_add(out, "yes or no");
        break;
    case KEY_CHOICE:
        text_add(out, "one of ");
        add_choices(key->choices ? key->choices : "", out);
        break;
    case KEY_WORDS:
        text_add(out, key->choices ? "words out of " : "words");
        if (key->choices) add_choices(key->choices, out);
        break;
    case KEY_TEXT:
        text_add(out, "text");
        break;
    }
}

/* ---- "did you mean" ---- */

enum { LONGEST_COMPARED = 64 };

/* Number of characters to insert, delete or change to turn a into b (Levenshtein), ignoring case. */
static int edit_distance(const char *a, const char *b) {
    size_t m = strlen(a), n = strlen(b);
    if (m > LONGEST_COMPARED || n > LONGEST_COMPARED) return INT_MAX;
    int row[LONGEST_COMPARED + 1];
    for (size_t j = 0; j <= n; j++) row[j] = (int)j;
    for (size_t i = 1; i <= m; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            int same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            int change = diagonal + !same;
            int shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < shorter ? change : shorter;
        }
    }
    return row[n];
}

/* The declared key nearest to an unknown one; NULL where none is near. The right name in the wrong section
 * counts as near, however far apart the sections are. */
static const recipe_key *nearest_key(const recipe *r, const char *dotted_key) {
    const char *dot = strchr(dotted_key, '.');
    const recipe_key *best = NULL;
    int best_distance = 2 + (int)strlen(dotted_key) / 8;
    for (size_t i = 0; i < r->table_count; i++) {
        for (const recipe_key *key = r->tables[i].keys; key->name; key++) {
            char candidate[256];
            format_text(candidate, sizeof candidate, "%s.%s", key->section, key->name);
            int distance = edit_distance(dotted_key, candidate);
            if (dot && strcmp(dot + 1, key->name) == 0 && distance > 2) distance = 2;
            if (distance < best_distance || (!best && distance == best_distance)) {
                best = key;
                best_distance = distance;
            }
        }
    }
    return best;
}

static jf_status fail_unknown(const recipe *r, const recipe_entry *entry) {
    text t = {0};
    if (entry->line <= RECIPE_BY_HAND) {
        add_key(r, entry, entry->key, &t);
        text_add(&t, "unknown key");
    } else {
        text_add(&t, "%s:%d: unknown key \"%s\"", r->name, entry->line, entry->key);
    }
    const recipe_key *near = nearest_key(r, entry->key);
    if (near) text_add(&t, "; did you mean \"%s.%s\"?", near->section, near->name);
    return fail_text(r, &t);
}

/* ---- checks ---- */

static int in_range(const recipe_key *key, double value) {
    return isfinite(value) && (!has_range(key) || (value >= key->lo && value <= key->hi));
}

static int is_choice(const char *choices, const char *word, size_t length) {
    size_t n = 0;
    const char *choice = NULL;
    for (int i = 0; (choice = recipe_find_word(choices, i, &n)) != NULL; i++)
        if (n == length && memcmp(choice, word, n) == 0) return 1;
    return 0;
}

static int are_choices(const char *choices, const char *words) {
    size_t length = 0;
    const char *word = NULL;
    for (int i = 0; (word = recipe_find_word(words, i, &length)) != NULL; i++)
        if (!is_choice(choices, word, length)) return 0;
    return 1;
}

static int is_allowed(const recipe_key *key, const char *value) {
    long long whole = 0;
    double real = 0;
    switch (key->type) {
    case KEY_INT:
        return number_parse_int(value, &whole) && whole >= INT_MIN && whole <= INT_MAX &&
               in_range(key, (double)whole);
    case KEY_REAL:
        return (key->choices && is_choice(key->choices, value, strlen(value))) ||
               (number_parse(value, &real) && in_range(key, real));
    case KEY_BOOL:
        return recipe_read_bool(value) >= 0;
    case KEY_CHOICE:
        return is_choice(key->choices ? key->choices : "", value, strlen(value));
    case KEY_WORDS:
        return !key->choices || are_choices(key->choices, value);
    case KEY_TEXT:
        return 1;
    }
    return 0;
}

/* `entry` is NULL where the value is the default. */
static jf_status check_value(const recipe *r, const recipe_key *key, const recipe_entry *entry) {
    const char *value = entry ? entry->value : key->fallback;
    char dotted_key[256];
    if (value && is_allowed(key, value)) return JF_OK;
    text t = {0};
    format_text(dotted_key, sizeof dotted_key, "%s.%s", key->section, key->name);
    add_key(r, entry, dotted_key, &t);
    if (value)
        text_add(&t, "found%s \"%.200s\"%s, expected ", entry ? "" : " the default", value,
                 strlen(value) > 200 ? "..." : "");
    else
        text_add(&t, "missing, expected ");
    recipe_describe(key, &t);
    return fail_text(r, &t);
}

static jf_status fail_outside(const recipe *r, const recipe_entry *entry, const char *only_if) {
    char condition[256];
    format_text(condition, sizeof condition, "%s", only_if);
    char *equals = strchr(condition, '=');
    if (equals) *equals = '\0';
    const char *value = recipe_get(r, condition);
    return recipe_fail(r, entry->key, "applies only where %s = %s; here %s is %s%s%s", condition,
                       equals ? equals + 1 : "", condition, value ? "\"" : "", value ? value : "not in use",
                       value ? "\"" : "");
}

jf_status recipe_check_complete(const recipe *r) {
    for (size_t i = 0; i < r->table_count; i++) {
        if (!recipe_table_applies(r, &r->tables[i])) continue;
        for (const recipe_key *key = r->tables[i].keys; key->name; key++) {
            char dotted_key[256];
            format_text(dotted_key, sizeof dotted_key, "%s.%s", key->section, key->name);
            if (!recipe_find_entry(r, dotted_key))
                return recipe_fail(r, dotted_key, "missing, expected a value for every key that applies");
        }
    }
    return JF_OK;
}

/* In the order that finds the cause first: a misspelt data.set has to be reported before the keys that it
 * puts out of use. */
jf_status recipe_check(const recipe *r) {
    for (size_t i = 0; i < r->entry_count; i++) {
        const recipe_entry *entry = &r->entries[i];
        recipe_found found = recipe_find_key(r, entry->key);
        if (!found.key) return fail_unknown(r, entry);
        if (found.applies) JF_TRY(check_value(r, found.key, entry));
    }
    for (size_t i = 0; i < r->table_count; i++) {
        if (!recipe_table_applies(r, &r->tables[i])) continue;
        for (const recipe_key *key = r->tables[i].keys; key->name; key++) {
            char dotted_key[256];
            format_text(dotted_key, sizeof dotted_key, "%s.%s", key->section, key->name);
            if (!recipe_find_entry(r, dotted_key)) JF_TRY(check_value(r, key, NULL));
        }
    }
    for (size_t i = 0; i < r->entry_count; i++) {
        recipe_found found = recipe_find_key(r, r->entries[i].key);
        if (!found.applies && r->entries[i].line != RECIPE_SUGGESTED)
            return fail_outside(r, &r->entries[i], found.table->only_if);
    }
    return JF_OK;
}
