/* The recipe itself: values by key, the tables that declare the keys, and the getters.
 *
 * Invariant: each key has at most one entry. A value comes from its entry or else from the default of the
 * first declaration that applies. */
#include "base/number.h"
#include "base/shown.h"
#include "io/recipe_private.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_ENTRIES = 4096, MAX_CONDITION_DEPTH = 8 };

/* ---- create, clone, free ---- */

static const char *without_folders(const char *name) {
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* The name goes into model files, whose strings are shown. */
static jf_status check_name(jf_context *ctx, const char *name) {
    const char *last = without_folders(name);
    size_t good = shown_prefix(last, strlen(last), "");
    if (!last[good]) return JF_OK;
    return jf_fail(ctx, JF_ERROR_RECIPE,
                   "%s: byte %zu of the recipe's name has code %d, expected a name in UTF-8 without control "
                   "characters (no model file could hold another): rename it",
                   name, good + 1, (unsigned char)last[good]);
}

jf_status recipe_create(jf_context *ctx, recipe **out, const char *name) {
    *out = NULL;
    recipe *r = NULL;
    JF_TRY(check_name(ctx, name));
    JF_TRY(MEM_NEW(ctx, &r, 1));
    r->ctx = context_hold(ctx);
    jf_status status = mem_copy_text(ctx, &r->name, name);
    if (status == JF_OK)
        *out = r;
    else
        recipe_free(r);
    return status;
}

jf_status recipe_clone(recipe **out, const recipe *r) {
    recipe *copy = NULL;
    *out = NULL;
    JF_TRY(recipe_create(r->ctx, &copy, r->name));
    jf_status status = JF_OK;
    for (size_t i = 0; i < r->entry_count && status == JF_OK; i++) {
        const recipe_entry *e = &r->entries[i];
        status = recipe_add_entry(copy, e->key, e->value, e->line);
    }
    for (size_t i = 0; i < r->table_count && status == JF_OK; i++)
        status = recipe_declare(copy, r->tables[i].keys, r->tables[i].only_if);
    recipe_set_rows(copy, r->rows);
    copy->foreign = r->foreign;
    if (status == JF_OK)
        *out = copy;
    else
        recipe_free(copy);
    return status;
}

void recipe_set_rows(recipe *r, memory_rows *rows) {
    memory_rows_hold(rows);
    memory_rows_free(r->rows);
    r->rows = rows;
}

void recipe_distrust(recipe *r) {
    r->foreign = 1;
}

void recipe_trust(recipe *r) {
    r->foreign = 0;
}

int recipe_is_foreign(const recipe *r) {
    return r->foreign;
}

memory_rows *recipe_rows(const recipe *r) {
    return r->rows;
}

void recipe_free(recipe *r) {
    if (!r) return;
    for (size_t i = 0; i < r->entry_count; i++) {
        free(r->entries[i].key);
        free(r->entries[i].value);
    }
    for (size_t i = 0; i < r->table_count; i++) free(r->tables[i].only_if);
    memory_rows_free(r->rows);
    jf_context_free(r->ctx);
    free(r->entries);
    free(r->tables);
    free(r->name);
    free(r);
}

/* ---- entries ---- */

/* Makes room for one more element of `size` bytes; *array is a T *. */
static jf_status grow(jf_context *ctx, void *array, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity) return JF_OK;
    size_t wanted = *capacity ? *capacity * 2 : 16;
    void *old = NULL;
    memcpy(&old, array, sizeof old);
    void *grown = realloc(old, wanted * size);
    if (!grown) return jf_fail(ctx, JF_ERROR_MEMORY, "not enough memory for a recipe of %zu entries", wanted);
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return JF_OK;
}

recipe_entry *recipe_find_entry(const recipe *r, const char *dotted_key) {
    for (size_t i = 0; i < r->entry_count; i++)
        if (strcmp(r->entries[i].key, dotted_key) == 0) return &r->entries[i];
    return NULL;
}

jf_status recipe_add_entry(recipe *r, const char *dotted_key, const char *value, int line) {
    if (r->entry_count >= MAX_ENTRIES)
        return jf_fail(r->ctx, JF_ERROR_RECIPE, "%s: more than %d keys", r->name, MAX_ENTRIES);
    JF_TRY(grow(r->ctx, &r->entries, r->entry_count, &r->entry_capacity, sizeof *r->entries));
    recipe_entry entry = {.line = line};
    jf_status status = mem_copy_text(r->ctx, &entry.key, dotted_key);
    if (status == JF_OK) status = mem_copy_text(r->ctx, &entry.value, value);
    if (status != JF_OK) {
        free(entry.key);
        return status;
    }
    r->entries[r->entry_count++] = entry;
    return JF_OK;
}

int recipe_valid_name(const char *name, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        int later = (c >= '0' && c <= '9') || c == '_' || c == '-';
        if (!letter && !(i > 0 && later)) return 0;
    }
    return length > 0;
}

static int is_space(char c) {
    return c == ' ' || c == '\t';
}

/* A value must survive being written and read again: one line, and nothing that starts a comment. */
static jf_status check_writable(const recipe *r, const char *dotted_key, const char *value, size_t length) {
    char words[OPTION_WORDS];
    option_words(r->ctx, OPTION_KEY, dotted_key, words);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)value[i];
        if ((c < ' ' && c != '\t') || c == 127)
            return jf_fail(r->ctx, JF_ERROR_RECIPE, "%s: the value holds a control character (code %d)",
                           words, c);
        if ((c == '#' || c == ';') && (i == 0 || is_space(value[i - 1])))
            return jf_fail(r->ctx, JF_ERROR_RECIPE,
                           "%s: found \"%.*s\"; \"%c\" after a space would start a comment", words,
                           (int)(length < 200 ? length : 200), value, c);
    }
    size_t good = shown_prefix(value, length, "\t");
    if (good < length)
        return jf_fail(r->ctx, JF_ERROR_RECIPE,
                       "%s: byte %zu of the value has code %d, expected text in UTF-8 without control "
                       "characters (no model file could hold another)",
                       words, good + 1, (unsigned char)value[good]);
    if (length > 4000)
        return jf_fail(r->ctx, JF_ERROR_RECIPE, "%s: a value of %zu characters; expected at most 4000", words,
                       length);
    return JF_OK;
}

static jf_status fail_key(jf_context *ctx, const char *dotted_key) {
    char words[OPTION_WORDS], shown[201];
    snprintf(shown, sizeof shown, "%s", dotted_key);
    return jf_fail(ctx, JF_ERROR_RECIPE, "%s: expected a key written section.key",
                   option_words(ctx, OPTION_KEY, shown, words));
}

static jf_status set_value(recipe *r, const char *dotted_key, const char *value, int line) {
    const char *dot = strchr(dotted_key, '.');
    if (!dot || strlen(dotted_key) > 200 || !recipe_valid_name(dotted_key, (size_t)(dot - dotted_key)) ||
        !recipe_valid_name(dot + 1, strlen(dot + 1)))
        return fail_key(r->ctx, dotted_key);
    while (is_space(*value)) value++;
    size_t length = strlen(value);
    while (length > 0 && is_space(value[length - 1])) length--;
    JF_TRY(check_writable(r, dotted_key, value, length));

    char *copy = NULL;
    JF_TRY(MEM_NEW(r->ctx, &copy, length + 1));
    memcpy(copy, value, length);
    recipe_entry *entry = recipe_find_entry(r, dotted_key);
    if (!entry) {
        jf_status status = recipe_add_entry(r, dotted_key, copy, line);
        free(copy);
        return status;
    }
    free(entry->value);
    entry->value = copy;
    entry->line = line;
    return JF_OK;
}

jf_status recipe_set(recipe *r, const char *dotted_key, const char *value) {
    return set_value(r, dotted_key, value, RECIPE_BY_HAND);
}

jf_status recipe_suggest(recipe *r, const char *dotted_key, const char *value) {
    return set_value(r, dotted_key, value, RECIPE_SUGGESTED);
}

/* ---- declarations ---- */

static int same_condition(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

jf_status recipe_declare(recipe *r, const recipe_key *keys, const char *only_if) {
    for (size_t i = 0; i < r->table_count; i++)
        if (r->tables[i].keys == keys && same_condition(r->tables[i].only_if, only_if)) return JF_OK;
    if (only_if && (!strchr(only_if, '=') || !strchr(only_if, '.')))
        return jf_fail(r->ctx, JF_ERROR_ARGUMENT, "condition of a key table: found \"%s\", expected \"%s\"",
                       only_if, "section.key=value");
    JF_TRY(grow(r->ctx, &r->tables, r->table_count, &r->table_capacity, sizeof *r->tables));
    recipe_table table = {.keys = keys};
    if (only_if) JF_TRY(mem_copy_text(r->ctx, &table.only_if, only_if));
    r->tables[r->table_count++] = table;
    return JF_OK;
}

int recipe_key_is(const recipe_key *key, const char *dotted_key) {
    size_t length = strlen(key->section);
    return strncmp(key->section, dotted_key, length) == 0 && dotted_key[length] == '.' &&
           strcmp(key->name, dotted_key + length + 1) == 0;
}

jf_status recipe_declare_choice(recipe *r, const char *dotted_key, const char *choice,
                                const recipe_key *keys) {
    char only_if[64];
    format_text(only_if, sizeof only_if, "%s=%s", dotted_key, choice);
    return keys ? recipe_declare(r, keys, only_if) : JF_OK;
}

static recipe_found find_key(const recipe *r, const char *dotted_key, int depth);

static const char *value_of(const recipe *r, const char *dotted_key, const recipe_key *key) {
    const recipe_entry *entry = recipe_find_entry(r, dotted_key);
    return entry ? entry->value : key->fallback;
}

static int value_is(const recipe_key *key, const char *value, const char *word) {
    if (key->type == KEY_BOOL)
        return recipe_read_bool(value) >= 0 && recipe_read_bool(value) == recipe_read_bool(word);
    if (key->type != KEY_WORDS) return strcmp(value, word) == 0;
    size_t length = 0;
    const char *found = NULL;
    for (int i = 0; (found = recipe_find_word(value, i, &length)) != NULL; i++)
        if (strlen(word) == length && memcmp(found, word, length) == 0) return 1;
    return 0;
}

/* `depth` ends conditions that depend on each other in a circle. */
static int table_applies(const recipe *r, const recipe_table *table, int depth) {
    if (!table->only_if) return 1;
    if (depth >= MAX_CONDITION_DEPTH) return 0;
    const char *equals = strchr(table->only_if, '=');
    char dotted_key[256];
    size_t length = (size_t)(equals - table->only_if);
    if (length >= sizeof dotted_key) return 0;
    memcpy(dotted_key, table->only_if, length);
    dotted_key[length] = '\0';
    recipe_found found = find_key(r, dotted_key, depth + 1);
    if (!found.applies) return 0;
    const char *value = value_of(r, dotted_key, found.key);
    return value && value_is(found.key, value, equals + 1);
}

static recipe_found find_key(const recipe *r, const char *dotted_key, int depth) {
    recipe_found first = {0};
    for (size_t i = 0; i < r->table_count; i++) {
        const recipe_table *table = &r->tables[i];
        for (const recipe_key *key = table->keys; key->name; key++) {
            if (!recipe_key_is(key, dotted_key)) continue;
            recipe_found found = {.key = key, .table = table, .applies = table_applies(r, table, depth)};
            if (found.applies) return found;
            if (!first.key) first = found;
        }
    }
    return first;
}

int recipe_table_applies(const recipe *r, const recipe_table *table) {
    return table_applies(r, table, 0);
}

recipe_found recipe_find_key(const recipe *r, const char *dotted_key) {
    return find_key(r, dotted_key, 0);
}

/* ---- getters ---- */

jf_context *recipe_context(const recipe *r) {
    return r->ctx;
}

const char *recipe_name(const recipe *r) {
    return r->name;
}

const char *recipe_short_name(const recipe *r) {
    return without_folders(recipe_name(r));
}

int recipe_line(const recipe *r, const char *dotted_key) {
    const recipe_entry *entry = recipe_find_entry(r, dotted_key);
    return entry && entry->line > 0 ? entry->line : 0;
}

const char *recipe_get(const recipe *r, const char *dotted_key) {
    recipe_found found = recipe_find_key(r, dotted_key);
    return found.applies ? value_of(r, dotted_key, found.key) : NULL;
}

int recipe_int(const recipe *r, const char *dotted_key) {
    const char *value = recipe_get(r, dotted_key);
    long long number = 0;
    if (!value || !number_parse_int(value, &number)) return 0;
    return number < INT_MIN || number > INT_MAX ? 0 : (int)number;
}

double recipe_real(const recipe *r, const char *dotted_key) {
    const char *value = recipe_get(r, dotted_key);
    double number = NAN;
    return value && number_parse(value, &number) ? number : (double)NAN;
}

int recipe_read_bool(const char *value) {
    static const char *const yes[] = {"yes", "true", "on"}, *const no[] = {"no", "false", "off"};
    for (int i = 0; i < 3; i++) {
        if (strcasecmp(value, yes[i]) == 0) return 1;
        if (strcasecmp(value, no[i]) == 0) return 0;
    }
    return -1;
}

int recipe_bool(const recipe *r, const char *dotted_key) {
    const char *value = recipe_get(r, dotted_key);
    return value && recipe_read_bool(value) == 1;
}

int recipe_is(const recipe *r, const char *dotted_key, const char *word) {
    recipe_found found = recipe_find_key(r, dotted_key);
    const char *value = found.applies ? value_of(r, dotted_key, found.key) : NULL;
    return value && value_is(found.key, value, word);
}

const char *recipe_find_word(const char *list, int index, size_t *length) {
    static const char separators[] = " \t,";
    for (int i = 0; index >= 0; i++) {
        list += strspn(list, separators);
        *length = strcspn(list, separators);
        if (*length == 0) return NULL;
        if (i == index) return list;
        list += *length;
    }
    return NULL;
}

int recipe_words(const recipe *r, const char *dotted_key, int index, char *word, size_t size) {
    if (size > 0) word[0] = '\0';
    const char *value = recipe_get(r, dotted_key);
    size_t length = 0;
    const char *found = value ? recipe_find_word(value, index, &length) : NULL;
    if (!found) return 0;
    if (size > 0) {
        size_t kept = length < size ? length : size - 1;
        memcpy(word, found, kept);
        word[kept] = '\0';
    }
    return 1;
}
