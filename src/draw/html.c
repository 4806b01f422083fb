/* Pages are built by adding to a text; a lost allocation shows in text_check(). */
#include "draw/html.h"
#include "base/file.h"
#include "draw/draw.h"
#include "draw/label.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PICTURE_LIMIT ((size_t)256 << 20)

static void add(text *page, const char *chars) {
    text_add_chars(page, chars, strlen(chars));
}

void html_escape(text *page, const char *words) {
    for (const char *c = words ? words : ""; *c;) {
        int length = label_length(c);
        if (*c == '&')
            add(page, "&amp;");
        else if (*c == '<')
            add(page, "&lt;");
        else if (*c == '>')
            add(page, "&gt;");
        else if (*c == '"')
            add(page, "&quot;");
        else if (*c == '\'')
            add(page, "&#39;");
        else if (length || *c == '\n' || *c == '\t')
            text_add_chars(page, c, length ? (size_t)length : 1);
        else
            add(page, "\xEF\xBF\xBD");
        c += length ? length : 1;
    }
}

static void add_element(text *page, const char *open, const char *words, const char *close) {
    add(page, open);
    html_escape(page, words);
    add(page, close);
}

static const char style_sheet[] =
    ":root{color-scheme:light "
    "dark;--ink:#1c1e21;--quiet:#5c636b;--ground:#ffffff;--rule:#dfe3e8;--soft:#f5f7f9;"
    "--accent:#0072b2}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e6e9;--quiet:#a0a7b0;--ground:#16181b;--rule:#363b42;"
    "--soft:#1f2226;--accent:#56b4e9}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:2.5rem 1.5rem 4rem;max-width:62rem;background:var(--ground);color:var(--ink);"
    "font:16px/1.6 system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif}\n"
    "h1{font-size:1.9rem;line-height:1.25;margin:0 0 1.5rem}\n"
    "h2{font-size:1.3rem;margin:2.6rem 0 .8rem;padding-bottom:.3rem;border-bottom:2px solid var(--accent)}\n"
    "p{max-width:46rem;margin:.8rem 0}\n"
    "table{border-collapse:collapse;width:100%;margin:1rem 0;font-size:.95rem}\n"
    "th,td{padding:.45rem .9rem .45rem 0;border-bottom:1px solid "
    "var(--rule);text-align:left;vertical-align:top}\n"
    "th{font-weight:600;width:28%}\n"
    "td.value{font-variant-numeric:tabular-nums;white-space:pre-wrap;width:22%}\n"
    "td.why{color:var(--quiet)}\n"
    "pre{background:var(--soft);border:1px solid var(--rule);border-radius:6px;padding:.9rem "
    "1rem;overflow-x:auto;"
    "font:.85rem/1.5 ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace}\n"
    "figure{margin:1.4rem 0}\n"
    /* pictures are drawn on white and keep it in the dark */
    "img{max-width:100%;height:auto;display:block;background:#fff;border:1px solid "
    "var(--rule);border-radius:6px}\n"
    "figcaption{color:var(--quiet);font-size:.9rem;margin-top:.5rem;max-width:46rem}\n"
    "@media(max-width:40rem){th,td.value{width:auto}}\n"
    "@media print{:root{--ink:#000;--quiet:#444;--ground:#fff;--rule:#bbb;--soft:#fff}"
    "body{max-width:none;padding:0;font-size:10.5pt}h2{break-after:avoid}figure,tr,pre{break-inside:avoid}"
    "pre{white-space:pre-wrap}img{border:0}}\n";

void html_begin(text *page, const char *title) {
    add(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    add_element(page, "<title>", title, "</title>\n<style>\n");
    add(page, style_sheet);
    add_element(page, "</style>\n</head>\n<body>\n<h1>", title, "</h1>\n");
}

void html_section(text *page, const char *heading) {
    add_element(page, "<h2>", heading, "</h2>\n");
}

void html_paragraph(text *page, const char *words) {
    add_element(page, "<p>", words, "</p>\n");
}

void html_preformatted(text *page, const char *words) {
    add_element(page, "<pre>\n", words, "</pre>\n");
}

void html_table(text *page, const html_row *rows, int n) {
    add(page, "<table>\n");
    for (int i = 0; i < n; ++i) {
        add_element(page, "<tr><th scope=\"row\">", rows[i].label, "</th>");
        add_element(page, "<td class=\"value\">", rows[i].value, "</td>");
        add_element(page, "<td class=\"why\">", rows[i].explanation, "</td></tr>\n");
    }
    add(page, "</table>\n");
}

static void add_base64(text *page, const unsigned char *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char out[4096];
    size_t used = 0;
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t group = (uint32_t)bytes[i] << 16;
        if (left > 1) group |= (uint32_t)bytes[i + 1] << 8;
        if (left > 2) group |= bytes[i + 2];
        out[used++] = digits[group >> 18];
        out[used++] = digits[(group >> 12) & 63];
        out[used++] = left > 1 ? digits[(group >> 6) & 63] : '=';
        out[used++] = left > 2 ? digits[group & 63] : '=';
        if (used == sizeof out) {
            text_add_chars(page, out, used);
            used = 0;
        }
    }
    text_add_chars(page, out, used);
}

static uint32_t big_endian(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

jf_status html_picture(jf_context *ctx, text *page, const char *path, const char *caption) {
    static const char signature[] = "\x89PNG\r\n\x1A\n";
    char *png;
    size_t size;
    JF_TRY(file_read(ctx, &png, &size, path, PICTURE_LIMIT));
    if (size < 24 || memcmp(png, signature, 8) != 0 || memcmp(png + 12, "IHDR", 4) != 0) {
        free(png);
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: not a PNG file", path);
    }
    /* shown at the size it was drawn for, which is DRAW_SCALE times sharper than the page's pixels */
    uint32_t width = big_endian((unsigned char *)png + 16), height = big_endian((unsigned char *)png + 20);
    text_add(page, "<figure><img width=\"%u\" height=\"%u\" alt=\"", width / DRAW_SCALE, height / DRAW_SCALE);
    html_escape(page, caption);
    add(page, "\" src=\"data:image/png;base64,");
    add_base64(page, (unsigned char *)png, size);
    add(page, "\">");
    if (caption && *caption) add_element(page, "<figcaption>", caption, "</figcaption>");
    add(page, "</figure>\n");
    free(png);
    return JF_OK;
}

void html_end(text *page) {
    add(page, "</body>\n</html>\n");
}
