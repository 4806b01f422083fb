#include "options.h"
#include "nearest.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(arguments *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(arguments *a, const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    vsnprintf(a->error, sizeof a->error, format, rest);
    va_end(rest);
    return 0;
}

/* ---- numbers ---- */

int number_read(const char *text, double *out) {
    static const char decimal[] = "+-.0123456789eE"; /* no spaces, hexadecimals, infinities */
    char *end;
    if (!*text || text[strspn(text, decimal)]) return 0;
    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out);
}

static int whole_read(const char *text, uint64_t *out) {
    char *end;
    if (!isdigit((unsigned char)*text)) return 0; /* strtoull takes signs and spaces */
    errno = 0;
    *out = strtoull(text, &end, 10);
    return !*end && errno == 0;
}

static int check_value(arguments *a, const option *o, const char *shown, const char *text) {
    uint64_t whole;
    double real;
    const char *kind = NULL;
    if (o->type == OPTION_WHOLE) {
        if (!whole_read(text, &whole) || whole < o->lo || whole > o->hi) kind = "a whole number";
    } else if (o->type == OPTION_REAL) {
        if (!number_read(text, &real) || real < (double)o->lo || real > (double)o->hi) kind = "a number";
    }
    if (!kind) return 1;
    return refuse(a, "%s: found \"%s\", expected %s from %" PRIu64 " to %" PRIu64, shown, text, kind, o->lo,
                  o->hi);
}

/* ---- reading the command line ---- */

/* What is left of the command line. */
typedef struct reader {
    arguments *a;
    int argc, at;
    char **argv;
} reader;

/* Keeps option `o`, written as `shown`, with its value: `attached`, or else the next word. */
static int take(reader *in, const option *o, const char *shown, const char *attached) {
    arguments *a = in->a;
    const char *text = attached;
    if (o->type == OPTION_FLAG) {
        if (attached) return refuse(a, "%s takes no value, found \"%s\"", shown, attached);
        text = "";
    } else if (!text) {
        if (in->at >= in->argc) return refuse(a, "%s: nothing follows, expected %s", shown, o->value);
        text = in->argv[in->at++];
    }
    a->given[a->given_count++] = (given_option){o, text};
    return check_value(a, o, shown, text);
}

static int unknown(arguments *a, const char *shown, const char *name) {
    nearest near = nearest_begin(name);
    for (const option *o = a->options; o->name; o++) nearest_try(&near, o->name);
    nearest_try(&near, "help");
    if (near.best) return refuse(a, "unknown option %s; did you mean --%s?", shown, near.best);
    return refuse(a, "unknown option %s", shown);
}

static int read_long(reader *in, const char *word) {
    char name[64], shown[80];
    size_t length = strcspn(word + 2, "=");
    const char *attached = word[2 + length] ? word + 2 + length + 1 : NULL;
    snprintf(name, sizeof name, "%.*s", (int)length, word + 2);
    snprintf(shown, sizeof shown, "--%s", name);
    if (strcmp(name, "help") == 0 && !attached) return in->a->help = 1;
    for (const option *o = in->a->options; o->name; o++)
        if (strcmp(o->name, name) == 0) return take(in, o, shown, attached);
    return unknown(in->a, shown, name);
}

/* One letter, and its value if something follows it in the same word: -n100. Flags may share a word. */
static int read_letters(reader *in, const char *word) {
    for (const char *letter = word + 1; *letter; letter++) {
        char shown[] = {'-', *letter, 0};
        const option *o = in->a->options;
        if (*letter == 'h') return in->a->help = 1;
        while (o->name && o->letter != *letter) o++;
        if (!o->name)
            return letter == word + 1 ? unknown(in->a, word, word + 1) : unknown(in->a, shown, shown + 1);
        if (o->type != OPTION_FLAG) return take(in, o, shown, letter[1] ? letter + 1 : NULL);
        if (!take(in, o, shown, NULL)) return 0;
    }
    return 1;
}

/* `names` = "MODEL [DATA]": copies the index-th without its brackets, NULL past the last. */
static const char *name_of_argument(const char *names, int index, int *optional, char *out, size_t size) {
    for (names += strspn(names, " "); *names && index > 0; index--) {
        names += strcspn(names, " ");
        names += strspn(names, " ");
    }
    if (!*names) return NULL;
    *optional = *names == '[';
    if (*optional) names++;
    snprintf(out, size, "%.*s", (int)strcspn(names, " ]"), names);
    return out;
}

static int check_count(arguments *a, const char *names) {
    char name[64];
    int optional, count = 0;
    while (name_of_argument(names, count, &optional, name, sizeof name)) {
        if (count >= a->count && !optional) return refuse(a, "%s is missing", name);
        count++;
        size_t length = strlen(name);
        if (length > 3 && strcmp(name + length - 3, "...") == 0) return 1; /* any number of them */
    }
    if (a->count > count) return refuse(a, "unexpected argument \"%s\"", a->values[count]);
    return 1;
}

int arguments_parse(arguments *out, const option *options, const char *names, int argc, char **argv) {
    *out = (arguments){.options = options};
    size_t size = 1; /* every letter may be an option */
    for (int i = 0; i < argc; i++) size += strlen(argv[i]) + 1;
    out->given = calloc(size, sizeof *out->given);
    out->values = calloc((size_t)argc + 1, sizeof *out->values);
    if (!out->given || !out->values) return refuse(out, "not enough memory");
    reader in = {.a = out, .argc = argc, .argv = argv};
    int options_ended = 0;
    while (in.at < argc && !out->help) {
        const char *word = argv[in.at++];
        int good = 1;
        if (options_ended || word[0] != '-' || !word[1])
            out->values[out->count++] = word;
        else if (strcmp(word, "--") == 0)
            options_ended = 1;
        else
            good = word[1] == '-' ? read_long(&in, word) : read_letters(&in, word);
        if (!good) return 0;
    }
    return out->help || check_count(out, names);
}

void arguments_free(arguments *a) {
    free(a->given);
    free(a->values);
}

/* ---- getters ---- */

const char *argument(const arguments *a, int index) {
    return index < a->count ? a->values[index] : NULL;
}

static const option *look_up(const arguments *a, const char *name) {
    const option *o = a->options;
    while (o->name && strcmp(o->name, name) != 0) o++;
    return o;
}

static const option *find(const arguments *a, const char *name) {
    const option *o = look_up(a, name);
    assert(o->name); /* a command asks for what its table has */
    return o;
}

int option_is_known(const arguments *a, const char *name) {
    return look_up(a, name)->name != NULL;
}

int option_given(const arguments *a, const char *name) {
    const option *o = find(a, name);
    for (int i = 0; i < a->given_count; i++)
        if (a->given[i].option == o) return 1;
    return 0;
}

const char *option_text(const arguments *a, const char *name) {
    const option *o = find(a, name);
    for (int i = a->given_count; i-- > 0;)
        if (a->given[i].option == o) return a->given[i].text;
    return o->fallback;
}

const char *option_item(const arguments *a, const char *name, int index) {
    const option *o = find(a, name);
    for (int i = 0; i < a->given_count; i++)
        if (a->given[i].option == o && index-- == 0) return a->given[i].text;
    return NULL;
}

uint64_t option_whole(const arguments *a, const char *name) {
    uint64_t value = 0;
    const char *text = option_text(a, name);
    if (text) whole_read(text, &value);
    return value;
}

int option_int(const arguments *a, const char *name) {
    return (int)option_whole(a, name);
}

double option_real(const arguments *a, const char *name) {
    double value = 0;
    const char *text = option_text(a, name);
    if (text) number_read(text, &value);
    return value;
}
