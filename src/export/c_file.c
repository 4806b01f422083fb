/* Text of exported C files: parts with their names replaced, and numbers that a compiler reads back to the
 * same bits. */
#include "export/c_file.h"
#include "base/number.h"
#include <string.h>

#define PER_LINE 10

static char upper_of(char c) {
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static void add_name(text *out, const char *name, int upper) {
    for (; *name; name++) {
        char c = upper ? upper_of(*name) : *name;
        text_add_chars(out, &c, 1);
    }
    text_add_chars(out, "_", 1);
}

void c_add_text(c_file *f, const char *part) {
    const char *begin = part;
    for (const char *at = part; *at; at++) {
        int lower = strncmp(at, "model_", 6) == 0, upper = strncmp(at, "MODEL_", 6) == 0;
        if (!(lower || upper) || (at > part && export_is_word(at[-1]))) continue;
        text_add_chars(&f->out, begin, (size_t)(at - begin));
        add_name(&f->out, f->s->name, upper);
        begin = at + 6;
        at += 5;
    }
    text_add_chars(&f->out, begin, strlen(begin));
}

void c_add_part(c_file *f, const char *name) {
    for (const c_part *p = c_parts; p->name; p++)
        if (strcmp(p->name, name) == 0) c_add_text(f, p->text);
}

void c_add_real(text *out, double value) {
    char chars[48];
    format_text(chars, sizeof chars, "%.17g", value);
    text_add(out, "%s%s", chars, strpbrk(chars, ".e") ? "" : ".0");
}

void c_add_float(text *out, double value) {
    for (int digits = 4; digits <= 9; digits++) {
        char chars[48];
        double back;
        format_text(chars, sizeof chars, "%.*g", digits, (double)(float)value);
        if (digits < 9 && (!number_parse(chars, &back) || (float)back != (float)value)) continue;
        text_add(out, "%s%sf", chars, strpbrk(chars, ".e") ? "" : ".0");
        return;
    }
}

c_array c_array_begin(c_file *f, const char *name) {
    text_add(&f->out, "static const float %s[] = {", name);
    return (c_array){f, 0};
}

void c_add_numbers(c_array *a, const double *values, size_t count) {
    for (size_t i = 0; i < count; i++, a->count++) {
        text_add(&a->f->out, "%s%s", a->count ? "," : "", a->count % PER_LINE ? " " : "\n    ");
        c_add_float(&a->f->out, values[i]);
    }
}

void c_array_end(c_array *a) {
    text_add(&a->f->out, "};\n");
}
