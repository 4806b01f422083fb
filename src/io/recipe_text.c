/* Recipes as text: reading them strictly, writing them so that reading gives the same recipe. */
#include "base/file.h"
#include "base/shown.h"
#include "io/recipe_private.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 1 << 20, MAX_LINE = 4096 };

/* A stretch of the text being read. */
typedef struct span {
    const char *chars;
    size_t length;
} span;

typedef struct reader {
    recipe *r;
    int line;
    span section; /* empty before the first [section] */
} reader;

static int is_space(char c) {
    return c == ' ' || c == '\t';
}

static span trim(span s) {
    while (s.length && is_space(s.chars[0])) s = (span){s.chars + 1, s.length - 1};
    while (s.length && is_space(s.chars[s.length - 1])) s.length--;
    return s;
}

/* A comment begins with # or ; at the start of what is left or after a space: "a#b" is a value. */
static span cut_comment(span s) {
    for (size_t i = 0; i < s.length; i++)
        if ((s.chars[i] == '#' || s.chars[i] == ';') && (i == 0 || is_space(s.chars[i - 1]))) s.length = i;
    return s;
}

/* For messages: not more than a person wants to see. */
static int shown(span s) {
    return (int)(s.length < 60 ? s.length : 60);
}

static jf_status fail_line(const reader *in, const char *what, span found, const char *expected) {
    return jf_fail(in->r->ctx, JF_ERROR_RECIPE, "%s:%d: %s: found \"%.*s\", expected %s", in->r->name,
                   in->line, what, shown(found), found.chars, expected);
}

static jf_status read_section(reader *in, span line) {
    if (line.chars[line.length - 1] != ']') return fail_line(in, "section", line, "[name]");
    span name = trim((span){line.chars + 1, line.length - 2});
    if (!recipe_valid_name(name.chars, name.length) || name.length > 64)
        return fail_line(in, "section", line, "a name of letters, digits, \"_\" and \"-\" in brackets");
    in->section = name;
    return JF_OK;
}

static jf_status read_entry(reader *in, span line) {
    const char *equals = memchr(line.chars, '=', line.length);
    if (!equals) return fail_line(in, "line", line, "\"key = value\" or \"[section]\"");
    size_t at = (size_t)(equals - line.chars);
    span name = trim((span){line.chars, at});
    span value = trim(cut_comment(trim((span){equals + 1, line.length - at - 1})));
    if (!recipe_valid_name(name.chars, name.length) || name.length > 64)
        return fail_line(in, "key", name, "a name of letters, digits, \"_\" and \"-\"");
    if (in->section.length == 0)
        return fail_line(in, "key before the first section", name, "[section] above it");
    size_t good = shown_prefix(value.chars, value.length, "\t");
    if (good < value.length)
        return jf_fail(
            in->r->ctx, JF_ERROR_RECIPE,
            "%s:%d: %.*s.%.*s: byte %zu of the value has code %d, expected text in UTF-8 without control "
            "characters (no model file could hold another)",
            in->r->name, in->line, (int)in->section.length, in->section.chars, (int)name.length, name.chars,
            good + 1, (unsigned char)value.chars[good]);

    text key = {0}, words = {0};
    text_add(&key, "%.*s.%.*s", (int)in->section.length, in->section.chars, (int)name.length, name.chars);
    text_add_chars(&words, value.chars, value.length);
    jf_status status = text_check(in->r->ctx, &key);
    if (status == JF_OK) status = text_check(in->r->ctx, &words);
    if (status == JF_OK) {
        const recipe_entry *before = recipe_find_entry(in->r, key.chars);
        if (before)
            status = jf_fail(in->r->ctx, JF_ERROR_RECIPE, "%s:%d: %s: given twice, first on line %d",
                             in->r->name, in->line, key.chars, before->line);
        else
            status = recipe_add_entry(in->r, key.chars, words.chars, in->line);
    }
    text_free(&key);
    text_free(&words);
    return status;
}

static jf_status read_line(reader *in, span line) {
    jf_context *ctx = in->r->ctx;
    if (line.length && line.chars[line.length - 1] == '\r') line.length--;
    if (line.length > MAX_LINE)
        return jf_fail(ctx, JF_ERROR_RECIPE, "%s:%d: a line of %zu characters; expected at most %d",
                       in->r->name, in->line, line.length, MAX_LINE);
    for (size_t i = 0; i < line.length; i++) {
        unsigned char c = (unsigned char)line.chars[i];
        if ((c < ' ' && c != '\t') || c == 127)
            return jf_fail(ctx, JF_ERROR_RECIPE,
                           "%s:%d: a control character (code %d) in column %zu; expected text", in->r->name,
                           in->line, c, i + 1);
    }
    line = trim(line);
    if (line.length == 0 || line.chars[0] == '#' || line.chars[0] == ';') return JF_OK;
    if (line.chars[0] == '[') return read_section(in, trim(cut_comment(line)));
    return read_entry(in, line);
}

static jf_status read_text(recipe *r, const char *chars, size_t size) {
    reader in = {.r = r, .section = {"", 0}};
    if (size > MAX_FILE)
        return jf_fail(r->ctx, JF_ERROR_RECIPE, "%s: %zu bytes; expected a recipe of at most %d", r->name,
                       size, MAX_FILE);
    if (size >= 3 && memcmp(chars, "\xEF\xBB\xBF", 3) == 0) { /* byte order mark of some editors */
        chars += 3;
        size -= 3;
    }
    while (size > 0) {
        const char *end = memchr(chars, '\n', size);
        size_t length = end ? (size_t)(end - chars) : size;
        in.line++;
        JF_TRY(read_line(&in, (span){chars, length}));
        size_t step = end ? length + 1 : length;
        chars += step;
        size -= step;
    }
    return JF_OK;
}

static jf_status create_from(jf_context *ctx, recipe **out, const char *chars, size_t size,
                             const char *name) {
    *out = NULL;
    recipe *r = NULL;
    JF_TRY(recipe_create(ctx, &r, name));
    jf_status status = read_text(r, chars, size);
    if (status == JF_OK)
        *out = r;
    else
        recipe_free(r);
    return status;
}

jf_status recipe_parse(jf_context *ctx, recipe **out, const char *chars, const char *name) {
    return create_from(ctx, out, chars, strlen(chars), name);
}

jf_status recipe_load(jf_context *ctx, recipe **out, const char *path) {
    *out = NULL;
    char *chars = NULL;
    size_t size = 0;
    JF_TRY(file_read(ctx, &chars, &size, path, MAX_FILE));
    jf_status status = create_from(ctx, out, chars, size, path);
    free(chars);
    return status;
}

/* ---- writing ---- */

/* Adds lines of comment, whatever line breaks the text has. */
static void write_comment(text *out, const char *chars) {
    while (*chars) {
        size_t length = strcspn(chars, "\n");
        text_add(out, "# %.*s\n", (int)length, chars);
        chars += length + (chars[length] == '\n');
    }
}

/* The value under which a table applies, if its keys are those of `like` and its condition is one about the
 * same key
 * ("model.net=", of `length`); NULL otherwise. */
static const char *condition_value(const recipe_table *table, const recipe_table *like, size_t length) {
    int same =
        table->keys == like->keys && table->only_if && strncmp(table->only_if, like->only_if, length) == 0;
    return same ? table->only_if + length : NULL;
}

/* "; only where model.net = resnext", and of keys that several values bring along "= joint, plain or
 * gaussian" */
static void add_condition(const recipe *r, const recipe_table *table, text *out) {
    if (!table->only_if) return;
    size_t length = strcspn(table->only_if, "=") + 1;
    int left = 0, added = 0;
    for (size_t i = 0; i < r->table_count; i++) left += condition_value(&r->tables[i], table, length) != NULL;
    text_add(out, "; only where %.*s =", (int)length - 1, table->only_if);
    for (size_t i = 0; i < r->table_count; i++) {
        const char *value = condition_value(&r->tables[i], table, length);
        if (value) text_add(out, "%s %s", !added++ ? "" : left == 1 ? " or" : ",", value);
        left -= value != NULL;
    }
}

/* The doc, then what is allowed, the default and where the key applies, in a line that begins with a capital.
 */
static void write_docs(const recipe *r, const recipe_table *table, const recipe_key *key, text *out) {
    if (key->doc) write_comment(out, key->doc);
    text rule = {0};
    recipe_describe(key, &rule);
    if (rule.failed || !rule.length) {
        out->failed = 1;
    } else {
        if (rule.chars[0] >= 'a' && rule.chars[0] <= 'z') rule.chars[0] = (char)(rule.chars[0] - 'a' + 'A');
        if (!key->fallback)
            text_add(&rule, "; must be given");
        else if (key->fallback[0])
            text_add(&rule, "; default %s", key->fallback);
        else
            text_add(&rule, "; nothing by default");
        add_condition(r, table, &rule);
        text_add(&rule, ".");
        if (rule.failed)
            out->failed = 1;
        else
            write_comment(out, rule.chars);
    }
    text_free(&rule);
}

static void write_key(const recipe *r, const recipe_table *table, const recipe_key *key, text *out,
                      int with_docs) {
    text dotted_key = {0};
    text_add(&dotted_key, "%s.%s", key->section, key->name);
    if (dotted_key.failed) {
        out->failed = 1;
        return;
    }
    recipe_found found = recipe_find_key(r, dotted_key.chars);
    if (found.key == key && found.table == table) { /* of several declarations that apply the first counts */
        const char *value = recipe_get(r, dotted_key.chars);
        if (with_docs) {
            text_add(out, "\n");
            write_docs(r, table, key, out);
            if (!value) text_add(out, "# %s =\n", key->name); /* for a person to fill in */
        }
        if (value) text_add(out, "%s =%s%s\n", key->name, value[0] ? " " : "", value);
    }
    text_free(&dotted_key);
}

/* Whether a key before this one opened the section already. */
static int section_written(const recipe *r, size_t table, const recipe_key *key) {
    for (size_t i = 0; i <= table; i++) {
        if (!recipe_table_applies(r, &r->tables[i])) continue;
        for (const recipe_key *k = r->tables[i].keys; k->name && !(i == table && k == key); k++)
            if (strcmp(k->section, key->section) == 0) return 1;
    }
    return 0;
}

static void write_section(const recipe *r, const char *section, text *out, int with_docs) {
    text_add(out, "%s[%s]\n", out->length ? "\n" : "", section);
    for (size_t i = 0; i < r->table_count; i++) {
        if (!recipe_table_applies(r, &r->tables[i])) continue;
        for (const recipe_key *key = r->tables[i].keys; key->name; key++)
            if (strcmp(key->section, section) == 0) write_key(r, &r->tables[i], key, out, with_docs);
    }
}

/* Sections in the order in which they were first declared. */
void recipe_write(const recipe *r, text *out, int with_docs) {
    for (size_t i = 0; i < r->table_count; i++) {
        if (!recipe_table_applies(r, &r->tables[i])) continue;
        for (const recipe_key *key = r->tables[i].keys; key->name; key++)
            if (!section_written(r, i, key)) write_section(r, key->section, out, with_docs);
    }
}
