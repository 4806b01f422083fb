/* Tables of numbers as text.
 *
 * The first line that is not blank decides: its separator is that of the file, its number of fields that of
 * every line. It is a row where all of its fields are numbers or missing, and the header where one is a name
 * and none has a sign, a point or an exponent; a field such as 1_000 makes no header of a row. A line of
 * numbers and text is a row where the line after it has text in the same columns. Memory grows with the rows
 * that are there, never with what a file claims. */
#include "io/csv.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/shown.h"
#include "base/utf8.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const size_t file_limit = (size_t)1 << 32;
#define LINES_A_POLL 4096

typedef struct field {
    const char *chars;
    size_t length;
    int quoted; /* the quotes are not part of it; quotes inside are still doubled */
} field;

struct csv_fault {
    size_t line; /* 0: the column has no fault */
    int quoted;
    char shown[48];
};

typedef struct reader {
    jf_context *ctx;
    const char *path, *at, *end; /* the rest of the line */
    const char *file_end;
    size_t line;
    char separator; /* ' ': any number of spaces and tabs */
    size_t first_line, capacity;
    csv_table *table;
} reader;

static int is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* ---- lines and fields ---- */

/* The most distinctive separator that the line has outside quotes: commas may stand inside numbers, spaces
 * inside names. */
static char find_separator(const char *at, const char *end) {
    static const char candidates[] = " \t,;";
    size_t best = 0;
    int in_quotes = 0;
    for (; at < end; at++) {
        if (*at == '"') in_quotes = !in_quotes;
        for (size_t i = best + 1; i < 4 && !in_quotes; i++)
            if (*at == candidates[i]) best = i;
    }
    return candidates[best];
}

/* Takes the next field; 0 at the end of the line. A separator at the end is followed by an empty field. */
static int next_field(reader *in, field *out) {
    if (!in->at) return 0;
    const char *start = in->at, *end = in->end;
    while (start < end && is_space(*start) && (*start != in->separator || in->separator == ' ')) start++;
    if (in->separator == ' ' && start == end) return 0;

    const char *stop = start;
    int quoted = start < end && *start == '"';
    if (quoted) { /* up to the closing quote: a doubled one stands for itself */
        for (stop++; stop < end && (*stop != '"' || (stop + 1 < end && stop[1] == '"')); stop++)
            stop += *stop == '"';
    }
    while (stop < end && *stop != in->separator && !(in->separator == ' ' && is_space(*stop))) stop++;
    in->at = stop < end ? stop + 1 : NULL;
    while (stop > start && is_space(stop[-1])) stop--;
    *out = (field){start, (size_t)(stop - start), 0};
    if (quoted && out->length >= 2 && stop[-1] == '"') *out = (field){start + 1, out->length - 2, 1};
    return 1;
}

static int read_number(const field *f, double *value) {
    return !f->quoted && f->length > 0 && number_scan(f->chars, value) == f->length;
}

static int is_word(const field *f, const char *word) {
    return f->length == strlen(word) && strncasecmp(f->chars, word, f->length) == 0;
}

static int is_missing(const field *f) {
    static const char *const words[] = {"",     "na",   "n/a", "#n/a",    "#na", "<na>", "nat",
                                        "null", "none", "nil", "missing", "-",   "--",   "?"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(f, words[i])) return 1;
    return 0;
}

/* true, True and TRUE, and likewise false; other spellings are text. */
static int read_boolean(const field *f, double *value) {
    static const char *const words[2][3] = {{"false", "False", "FALSE"}, {"true", "True", "TRUE"}};
    for (int truth = 0; truth < 2 && !f->quoted; truth++)
        for (int i = 0; i < 3; i++)
            if (f->length == strlen(words[truth][i]) && memcmp(f->chars, words[truth][i], f->length) == 0) {
                *value = truth;
                return 1;
            }
    return 0;
}

/* ---- reading ---- */

static jf_status grow(reader *in) {
    csv_table *t = in->table;
    if (t->rows < in->capacity) return JF_OK;
    size_t capacity = in->capacity ? in->capacity * 2 : 64, bytes = 0;
    double *values = NULL;
    if (!__builtin_mul_overflow(capacity, t->columns * sizeof *values, &bytes))
        values = realloc(t->values, bytes);
    if (!values)
        return jf_fail(in->ctx, JF_ERROR_MEMORY, "%s: not enough memory for %zu rows", in->path, capacity);
    t->values = values;
    in->capacity = capacity;
    return JF_OK;
}

/* Copies a name; a doubled quote inside quotes stands for one. `latin`: it is not UTF-8 yet. */
static jf_status copy_name(reader *in, const field *f, int latin, char **out) {
    JF_TRY(MEM_NEW(in->ctx, out, 3 * f->length + 1));
    char *to = *out;
    for (size_t i = 0; i < f->length; i++) {
        if (latin)
            to += utf8_from_windows(to, f->chars + i, 1);
        else
            *to++ = f->chars[i];
        if (f->quoted && f->chars[i] == '"' && i + 1 < f->length && f->chars[i + 1] == '"') i++;
    }
    return JF_OK;
}

/* The first text of a column. */
static jf_status keep_fault(reader *in, size_t column, const field *f) {
    csv_table *t = in->table;
    if (!t->faults) JF_TRY(MEM_NEW(in->ctx, &t->faults, t->columns));
    if (!t->words) JF_TRY(MEM_NEW(in->ctx, &t->words, t->columns));
    csv_fault *fault = &t->faults[column];
    if (fault->line) return JF_OK;
    fault->line = in->line;
    fault->quoted = f->quoted;
    format_text(fault->shown, sizeof fault->shown, "%.*s", (int)(f->length < 40 ? f->length : 40), f->chars);
    return JF_OK;
}

jf_status csv_check_column(jf_context *ctx, const char *path, const csv_table *t, size_t column) {
    const csv_fault *fault = t->faults ? &t->faults[column] : NULL;
    char name[64] = "";
    if (!fault || !fault->line) return JF_OK;
    if (t->names) format_text(name, sizeof name, " (\"%.40s\")", t->names[column]);
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s:%zu: column %zu%s: found %s%s%s, expected a number", path,
                   fault->line, column + 1, name, fault->quoted ? "'\"" : "\"", fault->shown,
                   fault->quoted ? "\"'" : "\"");
}

jf_status csv_check_classes(jf_context *ctx, const char *path, const csv_table *t, size_t column) {
    if (t->words && t->words[column].count > 0) return JF_OK;
    if (!t->words || !t->words[column].unusable) return csv_check_column(ctx, path, t, column);
    return jf_fail(ctx, JF_ERROR_DATA,
                   "%s: column %zu%s%s%s holds text, expected at most %d different words of classes, without "
                   "control characters",
                   path, column + 1, t->names ? " (\"" : "", t->names ? t->names[column] : "",
                   t->names ? "\")" : "", MAX_CLASSES);
}

/* The number that stands for the text of a field until all are known. */
static jf_status read_word(reader *in, size_t column, const field *f, double *value) {
    char *word;
    if (in->table->words[column].unusable) return JF_OK;
    JF_TRY(copy_name(in, f, utf8_prefix(f->chars, f->length) < f->length, &word));
    words_add(&in->table->words[column], word, value);
    return JF_OK;
}

/* Words in their order; what holds numbers, too, or too many words, has none. */
static void end_words(csv_table *t) {
    double code[MAX_CLASSES];
    for (size_t i = 0; t->words && i < t->columns; i++) {
        word_list *l = &t->words[i];
        size_t there = 0;
        if (!t->faults[i].line) continue;
        for (size_t row = 0; row < t->rows; row++) there += !isnan(t->values[row * t->columns + i]);
        int usable = !l->unusable && there == l->rows, many = l->unusable;
        if (usable) words_sort(l, code);
        if (!usable) words_clear(l);
        l->unusable = many;
        for (size_t row = 0; row < t->rows; row++) {
            double *value = &t->values[row * t->columns + i];
            if (!isnan(*value)) *value = usable ? code[(int)*value] : NAN;
        }
    }
}

/* A field that is no plain number. */
static jf_status read_other(reader *in, size_t column, const field *f, double *value) {
    if (read_boolean(f, value)) return JF_OK;
    *value = NAN;
    if (is_missing(f)) return JF_OK;
    JF_TRY(keep_fault(in, column, f));
    return read_word(in, column, f, value);
}

static jf_status read_row(reader *in) {
    csv_table *t = in->table;
    JF_TRY(grow(in));
    double *row = t->values + t->rows * t->columns;
    field f;
    size_t column = 0;
    for (; next_field(in, &f); column++) {
        double value = 0;
        if (column >= t->columns) continue;
        if (!read_number(&f, &value)) JF_TRY(read_other(in, column, &f, &value));
        row[column] = value;
    }
    if (column != t->columns)
        return jf_fail(in->ctx, JF_ERROR_FORMAT, "%s:%zu: found %zu columns, expected %zu as in line %zu",
                       in->path, in->line, column, t->columns, in->first_line);
    t->rows++;
    return JF_OK;
}

jf_status csv_check_name(jf_context *ctx, const char *where, size_t column, const char *name) {
    size_t good = shown_prefix(name, strlen(name), "");
    if (!name[good]) return JF_OK;
    return jf_fail(ctx, JF_ERROR_DATA,
                   "%s: column %zu: byte %zu of its name has code %d, expected text in UTF-8 without control "
                   "characters",
                   where, column + 1, good + 1, (unsigned char)name[good]);
}

/* A name with a line break, which quotes allow, would continue on the next line. */
static jf_status check_quotes(const reader *in, size_t column, const field *f) {
    int open = 0;
    for (size_t i = 0; i < f->length; i++) open ^= f->chars[i] == '"';
    if (f->quoted || !open || f->chars[0] != '"') return JF_OK;
    return jf_fail(in->ctx, JF_ERROR_FORMAT,
                   "%s:%zu: column %zu: found a quote that is not closed, expected a name in one line",
                   in->path, in->line, column + 1);
}

static jf_status read_names(reader *in) {
    csv_table *t = in->table;
    char where[PATH_MAX + 32];
    size_t length = (size_t)(in->end - in->at);
    int latin = utf8_prefix(in->at, length) < length;
    JF_TRY(MEM_NEW(in->ctx, &t->names, t->columns));
    if (latin)
        jf_log(in->ctx, "%s:%zu: the header is not UTF-8: read as Windows-1252 (Latin-1)", in->path,
               in->line);
    field f;
    format_text(where, sizeof where, "%s:%zu", in->path, in->line);
    for (size_t column = 0; next_field(in, &f); column++) {
        JF_TRY(check_quotes(in, column, &f));
        JF_TRY(copy_name(in, &f, latin, &t->names[column]));
        JF_TRY(csv_check_name(in->ctx, where, column, t->names[column]));
    }
    return JF_OK;
}

/* What a field of the first line could be. */
typedef enum field_kind {
    FIELD_BLANK,
    FIELD_DIGITS,  /* a number or a boolean, or the name of a year */
    FIELD_NUMBER,  /* any other number */
    FIELD_NAME,    /* quoted, or text that is nothing else */
    FIELD_UNCLEAR, /* begins like a number (1_000, 1st) */
    FIELD_MISSING, /* stands for a missing number (NA), or is a name */
    FIELD_KINDS
} field_kind;

static field_kind kind_of(const field *f) {
    double value = 0;
    if (f->quoted) return FIELD_NAME;
    if (f->length == 0) return FIELD_BLANK;
    if (strspn(f->chars, "0123456789") >= f->length || read_boolean(f, &value)) return FIELD_DIGITS;
    if (read_number(f, &value)) return FIELD_NUMBER;
    if (is_missing(f)) return FIELD_MISSING;
    return strchr("0123456789+-.", f->chars[0]) ? FIELD_UNCLEAR : FIELD_NAME;
}

static jf_status fail_first_line(const reader *in, size_t column, const field *f) {
    return jf_fail(
        in->ctx, JF_ERROR_FORMAT,
        "%s:%zu: column %zu: found \"%.*s\", expected a number, or names in all columns of a header "
        "(quoted where they could be taken for numbers or missing ones)",
        in->path, in->line, column + 1, (int)(f->length < 40 ? f->length : 40), f->chars);
}

static int is_text(field_kind kind) {
    return kind == FIELD_NAME || kind == FIELD_UNCLEAR;
}

/* The first line that is neither blank nor a comment from `at` on. 0: there is none. */
static int find_line(reader *in, const char *at) {
    for (const char *stop; at < in->file_end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(in->file_end - at));
        if (!stop) stop = in->file_end;
        in->at = at;
        in->end = stop;
        while (at < stop && is_space(*at)) at++;
        if (at < stop && *at != '#') return 1;
    }
    return 0;
}

/* Whether the line after this one has text and numbers in the same columns: then the first line is a row,
 * too. */
static int next_line_is_alike(const reader *in) {
    reader first = *in, second = *in;
    field f, g;
    if (!find_line(&second, in->end)) return 0;
    for (;;) {
        int more = next_field(&first, &f), also = next_field(&second, &g);
        if (more != also) return 0;
        if (!more) return 1;
        field_kind a = kind_of(&f), b = kind_of(&g);
        int unknown = a == FIELD_MISSING || a == FIELD_BLANK || b == FIELD_MISSING || b == FIELD_BLANK;
        if (!unknown && is_text(a) != is_text(b)) return 0;
    }
}

static jf_status read_first_line(reader *in) {
    const char *start = in->at;
    size_t counts[FIELD_KINDS] = {0}, odd_column = 0;
    field f, odd = {0}; /* the first that no row has, an unclear one before all others */
    if (strcmp(file_extension(in->path), ".tsv") == 0)
        in->separator = '\t';
    else
        in->separator = find_separator(in->at, in->end);
    in->first_line = in->line;
    while (next_field(in, &f)) {
        field_kind kind = kind_of(&f);
        int is_odd = kind == FIELD_UNCLEAR || (kind == FIELD_NAME && counts[FIELD_NAME] == 0);
        if (is_odd && counts[FIELD_UNCLEAR] == 0) odd = f, odd_column = in->table->columns;
        counts[kind]++;
        in->table->columns++;
    }
    in->at = start;
    if (counts[FIELD_NAME] + counts[FIELD_UNCLEAR] == 0) return read_row(in);
    if (counts[FIELD_NAME] == 0 || counts[FIELD_NUMBER] > 0)
        return next_line_is_alike(in) ? read_row(in) : fail_first_line(in, odd_column, &odd);
    if (counts[FIELD_DIGITS] > 0)
        jf_log(in->ctx, "%s:%zu: taken for the header, although some of its fields are numbers", in->path,
               in->line);
    return read_names(in);
}

static jf_status read_table(reader *in, const char *bytes, size_t size) {
    const char *begin = bytes, *end = bytes + size;
    in->file_end = end;
    if (memchr(bytes, '\0', size))
        return jf_fail(in->ctx, JF_ERROR_FORMAT, "%s: not a text file: it holds a byte of 0", in->path);
    if (size >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) bytes += 3; /* byte order mark of some editors */
    while (bytes < end) {
        const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
        in->at = bytes;
        in->end = stop ? stop : end;
        if (in->line++ % LINES_A_POLL == 0)
            JF_TRY(context_poll(in->ctx, "reading rows", (uint64_t)(bytes - begin), (uint64_t)size));
        bytes = stop ? stop + 1 : end;
        while (in->end > in->at && is_space(in->end[-1]) && in->end[-1] != '\t') in->end--;
        const char *start = in->at;
        while (start < in->end && is_space(*start)) start++;
        int only_tabs =
            start == in->end && in->separator == '\t' && memchr(in->at, '\t', (size_t)(start - in->at));
        if ((start == in->end && !only_tabs) || *start == '#') continue;
        JF_TRY(in->table->columns == 0 ? read_first_line(in) : read_row(in));
    }
    if (in->table->rows == 0)
        return jf_fail(in->ctx, JF_ERROR_FORMAT, "%s: found no rows of numbers, expected at least one",
                       in->path);
    return JF_OK;
}

jf_status csv_read_any(jf_context *ctx, const char *path, csv_table *out) {
    *out = (csv_table){0};
    char *bytes = NULL;
    size_t size = 0;
    JF_TRY(file_read(ctx, &bytes, &size, path, file_limit));
    reader in = {.ctx = ctx, .path = path, .table = out};
    jf_status status = read_table(&in, bytes, size);
    if (status == JF_OK) end_words(out);
    free(bytes);
    if (status != JF_OK) csv_free(out);
    return status;
}

jf_status csv_read(jf_context *ctx, const char *path, csv_table *out) {
    size_t first = 0;
    JF_TRY(csv_read_any(ctx, path, out));
    for (size_t i = 0; out->faults && i < out->columns; i++)
        if (out->faults[i].line &&
            (!out->faults[first].line || out->faults[i].line < out->faults[first].line))
            first = i;
    jf_status status = csv_check_column(ctx, path, out, first);
    if (status != JF_OK) csv_free(out);
    return status;
}

void csv_free(csv_table *table) {
    for (size_t i = 0; table->names && i < table->columns; i++) free(table->names[i]);
    free(table->names);
    free(table->values);
    free(table->faults);
    for (size_t i = 0; table->words && i < table->columns; i++) words_clear(&table->words[i]);
    free(table->words);
    *table = (csv_table){0};
}

/* ---- writing ---- */

jf_status csv_add_name(jf_context *ctx, const char *path, text *out, const char *name) {
    if (strpbrk(name, "\r\n"))
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: a column name holds a line break", path);
    size_t length = strlen(name);
    const field as_read = {name, length, 0};
    int plain = !strpbrk(name, "\",;# \t") && kind_of(&as_read) == FIELD_NAME;
    if (plain) {
        text_add_chars(out, name, length);
        return JF_OK;
    }
    text_add(out, "\"");
    for (; *name; name++) text_add_chars(out, *name == '"' ? "\"\"" : name, *name == '"' ? 2 : 1);
    text_add(out, "\"");
    return JF_OK;
}

jf_status csv_write_words(jf_context *ctx, const char *path, const char *const *names, const double *values,
                          size_t rows, size_t columns, csv_word word, const void *with) {
    text out = {0};
    jf_status status = JF_OK;
    if (columns == 0) return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: a table without columns", path);
    for (size_t j = 0; names && j < columns; j++) {
        if (j) text_add(&out, ",");
        JF_TRY_DONE(csv_add_name(ctx, path, &out, names[j]));
    }
    if (names) text_add(&out, "\n");
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            const char *name = word ? word(with, j, values[i * columns + j]) : NULL;
            if (name)
                JF_TRY_DONE(csv_add_name(ctx, path, &out, name));
            else
                text_add_number(&out, values[i * columns + j]);
            text_add_chars(&out, j + 1 < columns ? "," : "\n", 1);
        }
    JF_TRY_DONE(text_check(ctx, &out));
    JF_TRY_DONE(file_write(ctx, path, out.chars, out.length));
done:
    text_free(&out);
    return status;
}

jf_status csv_write(jf_context *ctx, const char *path, const char *const *names, const double *values,
                    size_t rows, size_t columns) {
    return csv_write_words(ctx, path, names, values, rows, columns, NULL, NULL);
}
