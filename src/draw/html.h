/* A report as one self-contained web page: no script, nothing loaded from elsewhere, readable in light and
 * dark and on paper. All words are plain text and are escaped here; pictures are embedded.
 *
 *     text page = {0};
 *     html_begin(&page, "Report");
 *     html_section(&page, "Latent space");
 *     html_table(&page, rows, 3);
 *     JF_TRY_DONE(html_picture(ctx, &page, "latent.png", "Histograms of the latent elements"));
 *     html_end(&page);
 *     JF_TRY_DONE(text_check(ctx, &page)); */
#ifndef JF_DRAW_HTML_H
#define JF_DRAW_HTML_H

#include "base/memory.h"

typedef struct html_row {
    const char *label, *value, *explanation; /* NULL: empty */
} html_row;

void html_begin(text *page, const char *title);
void html_section(text *page, const char *heading);
void html_paragraph(text *page, const char *words);
void html_table(text *page, const html_row *rows, int n);
void html_preformatted(text *page, const char *words);
/* Embeds a PNG file. The caption is also what a reader without pictures gets. */
jf_status html_picture(jf_context *ctx, text *page, const char *path, const char *caption);
void html_end(text *page);

void html_escape(text *page, const char *words); /* invalid UTF-8 becomes U+FFFD */

#endif
