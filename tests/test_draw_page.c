/* Tests of src/draw: grids of images, and the report page. */
#include "draw/html.h"
#include "draw_fixture.h"

/* ---- images ---- */

TEST(images__every_pixel_has_its_grey) {
    jf_context *ctx = new_context();
    enum { N = 3, H = 2, W = 4 };
    double values[N * H * W];
    unsigned char boxed[N] = {0, 1, 0};
    for (int i = 0; i < N * H * W; ++i) values[i] = -1 + 2.0 * i / (N * H * W - 1); /* -1 .. 1 */
    values[5] = NAN, values[6] = 7;
    const image_grid grid = {N, H, W, 1, values, 2, -1, 1, NULL, NULL, boxed, NULL};
    CHECK_STATUS(draw_images(ctx, test_path("images.png"), &grid, NULL), JF_OK);
    picture pic = load(test_path("images.png"));
    const double cell = 15, gap = 5, margin = 12; /* 60 units for the longest edge of 4 pixels */
    CHECK(pic.width == (int)(DRAW_SCALE * (2 * W * cell + gap + 2 * margin)));
    CHECK(pic.height == (int)(DRAW_SCALE * (2 * H * cell + gap + 2 * margin)));
    for (int i = 0; i < N * H * W; ++i) {
        int image = i / (H * W), row = i / W % H, column = i % W;
        double x = margin + image % 2 * (W * cell + gap) + column * cell;
        double y = margin + image / 2 * (H * cell + gap) + row * cell;
        unsigned byte = (unsigned)(i * 255.0 / (N * H * W - 1) + 0.5), expected = byte * 0x10101;
        if (i == 5) expected = 0xD55E00;
        if (i == 6) expected = 0xFFFFFF;
        CHECK(pixel_at(&pic, x + 2, y + 2) == expected);
        CHECK(pixel_at(&pic, x + cell - 2, y + cell - 2) == expected);
    }
    CHECK(distance(pixel_at(&pic, margin + W * cell + gap + 30, margin - 1), colour_warning) <
          0.02); /* the box */
    CHECK(distance(pixel_at(&pic, margin + 30, margin - 1), colour_warning) > 0.5);
    cairo_surface_destroy(pic.surface);
    jf_context_free(ctx);
}

TEST(images__may_be_in_colour_and_have_names) {
    jf_context *ctx = new_context();
    const double values[] = {1, 0, 0, 0, 0, 1}; /* (2, 1, 1, 3) */
    const char *const rows[] = {"first", "second"}, *const columns[] = {"one"};
    const image_grid grid = {2, 1, 1, 3, values, 1, 0, 1, rows, columns, NULL, NULL};
    figure *fig = new_figure(ctx, 1, 1);
    panel_title(figure_panel(fig, 0, 0), "colours");
    panel_images(figure_panel(fig, 0, 0), &grid);
    picture pic = save_and_load(fig);
    rectangle all = {0, 0, 300, 260};
    CHECK(count_near(&pic, all, (colour){1, 0, 0, 1}) > 1000 &&
          count_near(&pic, all, (colour){0, 0, 1, 1}) > 1000);
    CHECK(count_near(&pic, (rectangle){0, 50, 100, 200}, colour_ink) > 40); /* row names */
    end(ctx, fig, &pic);
}

TEST(images__refuse_shapes_that_are_none) {
    jf_context *ctx = new_context();
    const double values[8] = {0};
    const image_grid two_channels = {1, 2, 2, 2, values, 1, 0, 1, NULL, NULL, NULL, NULL};
    CHECK_STATUS(draw_images(ctx, test_path("a.png"), &two_channels, "title"), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(ctx), "2 channels");
    const image_grid none = {.columns = 3};
    CHECK_STATUS(draw_images(ctx, test_path("b.png"), &none, "title"), JF_OK);
    picture pic = load(test_path("b.png"));
    CHECK(pic.width > 0);
    cairo_surface_destroy(pic.surface);
    jf_context_free(ctx);
}

/* ---- reports ---- */

TEST(html__escapes_everything) {
    text page = {0};
    html_begin(&page, "<script>alert('x')</script>");
    html_section(&page, "a & b");
    html_paragraph(&page, "1 < 2 > 0 \xFF \xC3\xA9");
    html_table(&page, &(html_row){"<b>", "\"q\"", NULL}, 1);
    html_preformatted(&page, "[data]\n\tset = <none>");
    html_end(&page);
    CHECK(!page.failed);
    CHECK(!strstr(page.chars, "<script") && !strstr(page.chars, "http") && !strstr(page.chars, "<b>"));
    CHECK_HAS(page.chars, "<title>&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;</title>");
    CHECK_HAS(page.chars, "<h2>a &amp; b</h2>");
    CHECK_HAS(page.chars, "<p>1 &lt; 2 &gt; 0 \xEF\xBF\xBD \xC3\xA9</p>");
    CHECK_HAS(page.chars, "&lt;b&gt;</th><td class=\"value\">&quot;q&quot;</td><td class=\"why\"></td>");
    CHECK_HAS(page.chars, "[data]\n\tset = &lt;none&gt;</pre>");
    CHECK_HAS(page.chars, "</body>\n</html>\n");
    text_free(&page);
}

static int base64_digit(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, c);
    CHECK(at && c);
    return (int)(at - digits);
}

TEST(html__embeds_pictures_byte_for_byte) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    paint_everything(fig);
    CHECK_STATUS(figure_save(fig, test_path("p.png")), JF_OK);
    char *png;
    size_t size, at = 0;
    CHECK_STATUS(file_read(ctx, &png, &size, test_path("p.png"), 1 << 24), JF_OK);
    text page = {0};
    CHECK_STATUS(html_picture(ctx, &page, test_path("p.png"), "a \"caption\""), JF_OK);
    CHECK_HAS(page.chars, "width=\"300\" height=\"260\" alt=\"a &quot;caption&quot;\"");
    const char *code = strstr(page.chars, "base64,");
    CHECK(code);
    for (code += 7; *code != '"'; code += 4) {
        unsigned group = 0;
        int bytes = code[2] == '=' ? 1 : code[3] == '=' ? 2 : 3;
        for (int i = 0; i < 4; ++i) group = group << 6 | (i <= bytes ? (unsigned)base64_digit(code[i]) : 0);
        for (int i = 0; i < bytes; ++i, ++at)
            CHECK(at < size && (unsigned char)png[at] == ((group >> (16 - 8 * i)) & 255));
    }
    CHECK(at == size);
    text_free(&page);
    free(png);
    end(ctx, fig, NULL);
}

TEST(html__refuses_what_is_no_png) {
    jf_context *ctx = new_context();
    text page = {0};
    CHECK_STATUS(file_write(ctx, test_path("not.png"), "GIF89a and thirty more characters", 33), JF_OK);
    CHECK_STATUS(html_picture(ctx, &page, test_path("not.png"), NULL), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "not.png");
    CHECK_STATUS(html_picture(ctx, &page, test_path("missing.png"), NULL), JF_ERROR_IO);
    CHECK(page.length == 0);
    text_free(&page);
    jf_context_free(ctx);
}
