#include "plan.h"
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy_of(const char *text, size_t length) {
    char *copy = malloc(length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* The value that begins at `at`, without its parentheses; *next: behind its comma, or NULL after the last.
 * Returns 0 where a parenthesis is not closed, or more follows than a comma. */
static int next_value(const char *at, const char **value, size_t *length, const char **next) {
    const char *end;
    if (*at == '(') {
        end = strchr(at, ')');
        if (!end || (end[1] && end[1] != ',')) return 0;
        *value = at + 1;
        *length = (size_t)(end - at - 1);
        end++;
    } else {
        end = at + strcspn(at, ",");
        *value = at;
        *length = (size_t)(end - at);
    }
    *next = *end ? end + 1 : NULL;
    return 1;
}

static int add_value(sweep_axis *a, const char *value, size_t length) {
    char **longer = realloc(a->values, ((size_t)a->count + 1) * sizeof *longer);
    if (!longer) return 0;
    a->values = longer;
    a->values[a->count] = copy_of(value, length);
    if (!a->values[a->count]) return 0;
    a->count++;
    return 1;
}

static int has_value(const sweep_axis *a, const char *value, size_t length) {
    for (int i = 0; i < a->count; i++)
        if (strlen(a->values[i]) == length && memcmp(a->values[i], value, length) == 0) return 1;
    return 0;
}

static int read_axis(sweep_axis *out, const char *text, char *why, size_t size) {
    const char *equals = strchr(text, '='), *at, *value;
    size_t length;
    if (!equals || equals == text) {
        snprintf(why, size, "--set %s: expected KEY=VALUE, or KEY=VALUE,VALUE,... for several", text);
        return 0;
    }
    out->key = copy_of(text, (size_t)(equals - text));
    int kept = out->key != NULL;
    for (at = equals + 1; at && kept;) {
        if (!next_value(at, &value, &length, &at)) {
            snprintf(why, size,
                     "--set %s: expected values separated by commas, or in parentheses like (64,32),(32,16)",
                     text);
            return 0;
        }
        if (length == 0 || has_value(out, value, length)) {
            snprintf(why, size,
                     length == 0 ? "--set %s: a value is missing" : "--set %s: a value is there twice", text);
            return 0;
        }
        kept = add_value(out, value, length);
    }
    if (!kept) snprintf(why, size, "not enough memory");
    return kept;
}

int sweep_plan_create(sweep_plan *out, const char *const *texts, int count, int seeds, uint64_t first_seed,
                      char *why, size_t size) {
    *out = (sweep_plan){.settings = 1, .seeds = seeds, .first_seed = first_seed};
    out->axes = calloc((size_t)count + 1, sizeof *out->axes);
    if (!out->axes) {
        snprintf(why, size, "not enough memory");
        return 0;
    }
    for (int i = 0; i < count; i++) {
        out->axis_count++;
        if (!read_axis(&out->axes[i], texts[i], why, size)) return 0;
        for (int k = 0; k < i; k++)
            if (strcmp(out->axes[k].key, out->axes[i].key) == 0) {
                snprintf(why, size, "--set %s is there twice: expected all of its values in one",
                         out->axes[i].key);
                return 0;
            }
        if (out->axes[i].count > SWEEP_MOST / out->settings / seeds) {
            snprintf(why, size, "more than %d runs", SWEEP_MOST);
            return 0;
        }
        out->settings *= out->axes[i].count;
    }
    return 1;
}

void sweep_plan_free(sweep_plan *p) {
    for (int i = 0; i < p->axis_count; i++) {
        for (int k = 0; k < p->axes[i].count; k++) free(p->axes[i].values[k]);
        free(p->axes[i].values);
        free(p->axes[i].key);
    }
    free(p->axes);
    *p = (sweep_plan){0};
}

int sweep_plan_runs(const sweep_plan *p) {
    return p->settings * p->seeds;
}

const char *sweep_plan_value(const sweep_plan *p, int setting, int axis) {
    for (int i = p->axis_count - 1; i > axis; i--) setting /= p->axes[i].count;
    return p->axes[axis].values[setting % p->axes[axis].count];
}

/* The keys that have several values, with what they are in a setting. */
static char *join_varying(const sweep_plan *p, int setting, const char *between) {
    char *all = cli_join("%s", "");
    for (int i = 0; i < p->axis_count && all; i++) {
        if (p->axes[i].count < 2) continue;
        char *longer =
            cli_join("%s%s%s=%s", all, *all ? between : "", p->axes[i].key, sweep_plan_value(p, setting, i));
        free(all);
        all = longer;
    }
    return all;
}

char *sweep_plan_words(const sweep_plan *p, int setting) {
    char *words = join_varying(p, setting, " ");
    if (!words || *words) return words;
    free(words);
    return cli_join("as it is");
}

char *sweep_plan_folder(const sweep_plan *p, int setting, int seed) {
    char *words = join_varying(p, setting, ",");
    if (!words) return NULL;
    for (char *at = words; *at; at++)
        if (*at == '/' || *at == ' ') *at = '_';
    char *folder = cli_join("%s%sseed-%llu", words, *words ? "/" : "",
                            (unsigned long long)(p->first_seed + (uint64_t)seed));
    free(words);
    return folder;
}
