/* Everything shown passes label_copy(): one invalid byte would put the canvas into cairo's error state. */
#include "draw/label.h"
#include "base/utf8.h"
#include <string.h>

int label_length(const char *chars) {
    const unsigned char *c = (const unsigned char *)chars;
    size_t length = utf8_length(chars, 4); /* looks no further than a terminator */
    if (length == 1 && (c[0] < 0x20 || c[0] == 0x7F)) return 0;
    if (length == 2 && c[0] == 0xC2 && c[1] < 0xA0) return 0;                  /* control characters */
    if (length == 3 && c[0] == 0xEF && c[1] == 0xBF && c[2] >= 0xBE) return 0; /* no characters */
    return (int)length;
}

void label_copy(char out[LABEL_SIZE], const char *chars, const char *end) {
    size_t used = 0;
    while (chars && *chars && (!end || chars < end)) {
        int length = label_length(chars);
        if (used + (size_t)(length ? length : 1) >= LABEL_SIZE) break;
        if (length) {
            memcpy(out + used, chars, (size_t)length);
        } else {
            out[used] = *chars == '\t' || *chars == '\n' ? ' ' : '?';
            length = 1;
        }
        used += (size_t)length;
        chars += length;
    }
    out[used] = 0;
}

static void set_font(cairo_t *cr, double size, int bold) {
    cairo_select_font_face(cr, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr, size);
}

double label_width(cairo_t *cr, const char *words, double size, int bold) {
    cairo_text_extents_t extents;
    set_font(cr, size, bold);
    cairo_text_extents(cr, words, &extents);
    return extents.x_advance;
}

/* Drops characters at the end until the text fits with an ellipsis behind it. */
static void cut_to_width(cairo_t *cr, char words[LABEL_SIZE], double size, int bold, double max_width) {
    static const char ellipsis[] = "\xE2\x80\xA6";
    size_t length = strlen(words);
    if (length > LABEL_SIZE - sizeof ellipsis) length = LABEL_SIZE - sizeof ellipsis;
    while (length > 0) {
        --length;
        while (length > 0 && ((unsigned char)words[length] & 0xC0) == 0x80) --length;
        memcpy(words + length, ellipsis, sizeof ellipsis);
        if (label_width(cr, words, size, bold) <= max_width) return;
    }
}

void label_draw(cairo_t *cr, const char *words, double x, double y, const label_style *style) {
    const double smallest = 0.8; /* of the size asked for: below that, better cut than too small to read */
    char shown[LABEL_SIZE];
    label_copy(shown, words, NULL);
    double size = style->size, width = label_width(cr, shown, size, style->bold);
    if (style->max_width > 0 && width > style->max_width) {
        double shrink = style->max_width / width;
        size *= shrink > smallest ? shrink : smallest;
        if (shrink < smallest) cut_to_width(cr, shown, size, style->bold, style->max_width);
        width = label_width(cr, shown, size, style->bold);
    }
    set_font(cr, size, style->bold);
    cairo_save(cr);
    cairo_translate(cr, x, y);
    cairo_rotate(cr, style->angle);
    cairo_move_to(cr, -style->anchor * width, 0.365 * size); /* a capital is 0.73 of the size high */
    cairo_set_source_rgba(cr, style->ink.red, style->ink.green, style->ink.blue, style->ink.alpha);
    cairo_show_text(cr, shown);
    cairo_restore(cr);
    cairo_new_path(cr);
}
