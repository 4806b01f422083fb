/* Tests of src/draw: figures, words, axes, colours. */
#include "draw_fixture.h"

/* ---- figures ---- */

TEST(figure__saves_a_png_of_the_size_it_says) {
    jf_context *ctx = new_context();
    figure *fig;
    CHECK_STATUS(figure_create(ctx, &fig, 2, 3, 100, 80, NULL), JF_OK);
    int width, height;
    figure_size(fig, &width, &height);
    picture pic = save_and_load(fig);
    CHECK(pic.width == 3 * 100 * DRAW_SCALE && pic.height == 2 * 80 * DRAW_SCALE);
    CHECK(width == pic.width && height == pic.height);
    CHECK(count_not_white(&pic, (rectangle){0, 0, 300, 160}) == 0);
    end(ctx, fig, &pic);
}

TEST(figure__a_title_adds_a_strip_with_words) {
    jf_context *ctx = new_context();
    figure *fig;
    CHECK_STATUS(figure_create(ctx, &fig, 1, 1, 200, 100, "A title"), JF_OK);
    picture pic = save_and_load(fig);
    CHECK(pic.width == 200 * DRAW_SCALE && pic.height > 100 * DRAW_SCALE);
    double strip = pic.height / (double)DRAW_SCALE - 100;
    CHECK(count_not_white(&pic, (rectangle){0, 0, 200, strip}) > 100);
    CHECK(count_not_white(&pic, (rectangle){0, strip, 200, 100}) == 0);
    end(ctx, fig, &pic);
}

TEST(figure__refuses_sizes_that_make_no_picture) {
    jf_context *ctx = new_context();
    figure *fig;
    CHECK_STATUS(figure_create(ctx, &fig, 0, 1, 100, 100, NULL), JF_ERROR_ARGUMENT);
    CHECK(fig == NULL);
    CHECK_STATUS(figure_create(ctx, &fig, 1000, 1, 100, 100, NULL), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "200000 pixels");
    figure_free(NULL);
    jf_context_free(ctx);
}

TEST(figure__equal_input_gives_equal_bytes) {
    jf_context *ctx = new_context();
    char *bytes[2];
    size_t size[2];
    for (int i = 0; i < 2; ++i) {
        figure *fig = new_figure(ctx, 1, 1);
        paint_everything(fig);
        CHECK_STATUS(figure_save(fig, test_path("same.png")), JF_OK);
        CHECK_STATUS(file_read(ctx, &bytes[i], &size[i], test_path("same.png"), 1 << 24), JF_OK);
        figure_free(fig);
    }
    CHECK(size[0] == size[1] && memcmp(bytes[0], bytes[1], size[0]) == 0);
    free(bytes[0]);
    free(bytes[1]);
    jf_context_free(ctx);
}

TEST(figure__can_be_saved_twice) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    paint_everything(fig);
    char *a, *b;
    size_t size_a, size_b;
    CHECK_STATUS(figure_save(fig, test_path("a.png")), JF_OK);
    CHECK_STATUS(figure_save(fig, test_path("b.png")), JF_OK);
    CHECK_STATUS(file_read(ctx, &a, &size_a, test_path("a.png"), 1 << 24), JF_OK);
    CHECK_STATUS(file_read(ctx, &b, &size_b, test_path("b.png"), 1 << 24), JF_OK);
    CHECK(size_a == size_b && memcmp(a, b, size_a) == 0);
    free(a);
    free(b);
    end(ctx, fig, NULL);
}

TEST(figure__reports_the_first_mistake_when_saved) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 2);
    panel *p = figure_panel(fig, 1, 0);
    CHECK(p == NULL);
    double x = 0.5;
    panel_title(p, "nowhere");
    panel_axes(p, 0, 1, 0, 1, NULL, NULL, 0);
    panel_scatter(p, 1, &x, &x, 1, &(scatter_style){.ink = colour_ink});
    panel_text(p, "words");
    CHECK(figure_panel(fig, 0, 7) == NULL); /* the second mistake is not the one to report */
    CHECK_STATUS(figure_save(fig, test_path("never.png")), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "panel (1, 0) of a figure with 1 x 2 panels");
    CHECK(!file_exists(test_path("never.png")));
    end(ctx, fig, NULL);
}

TEST(figure__refuses_data_before_axes_and_axes_after_data) {
    jf_context *ctx = new_context();
    double x = 0.5;
    figure *fig = new_figure(ctx, 1, 1);
    panel_scatter(figure_panel(fig, 0, 0), 1, &x, &x, 1, &(scatter_style){.ink = colour_ink});
    CHECK_STATUS(figure_save(fig, test_path("a.png")), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "without axes");
    figure_free(fig);
    fig = new_figure(ctx, 1, 1);
    panel *p = plain_panel(fig);
    panel_scatter(p, 1, &x, &x, 1, &(scatter_style){.ink = colour_ink});
    panel_colour_bar(p, 0, 1, NULL);
    CHECK_STATUS(figure_save(fig, test_path("a.png")), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "the colour bar of a panel that already shows data");
    end(ctx, fig, NULL);
}

TEST(figure__a_folder_that_is_not_there_is_an_io_error) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    CHECK_STATUS(figure_save(fig, test_path("missing/picture.png")), JF_ERROR_IO);
    end(ctx, fig, NULL);
}

/* ---- words ---- */

TEST(label__replaces_invalid_bytes_and_keeps_characters_whole) {
    char out[LABEL_SIZE];
    label_copy(out,
               "a\xFF"
               "b\xC3("
               "\xED\xA0\x80\tz",
               NULL);
    CHECK_TEXT(out, "a?b?(??? z");
    label_copy(out, "gr\xC3\xBC\xC3\x9F", NULL);
    CHECK_TEXT(out, "gr\xC3\xBC\xC3\x9F");
    char longest[400];
    for (int i = 0; i < 398; i += 2) memcpy(longest + i, "\xC3\xBC", 2);
    longest[398] = 0;
    label_copy(out, longest, NULL);
    CHECK(strlen(out) >= LABEL_SIZE - 2 && strlen(out) % 2 == 0);
    label_copy(out, NULL, NULL);
    CHECK_TEXT(out, "");
}

TEST(label__too_long_words_stay_in_their_panel) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 2);
    char words[300];
    memset(words, 'W', sizeof words - 1);
    words[sizeof words - 1] = 0;
    double x = 0.5;
    panel *p = figure_panel(fig, 0, 0);
    panel_title(p, words);
    panel_axes(p, 0, 1, 0, 1, words, words, 0);
    panel_scatter(p, 1, &x, &x, 1, &(scatter_style){.ink = colour_ink, .label = words});
    picture pic = save_and_load(fig);
    CHECK(count_not_white(&pic, (rectangle){0, 0, 300, 260}) > 1000);
    CHECK(count_not_white(&pic, (rectangle){300, 0, 300, 260}) == 0);
    end(ctx, fig, &pic);
}

TEST(text_panel__sets_values_at_the_right) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    panel_text(figure_panel(fig, 0, 0), "\t0.0083\nmedian\n\xFF invalid");
    picture pic = save_and_load(fig);
    CHECK(count_near(&pic, (rectangle){200, 10, 90, 18}, colour_ink) > 20);
    CHECK(count_near(&pic, (rectangle){0, 10, 150, 18}, colour_ink) == 0);
    CHECK(count_near(&pic, (rectangle){278, 0, 22, 260}, colour_ink) == 0);
    CHECK(count_near(&pic, (rectangle){0, 32, 150, 18}, colour_ink) > 20);
    end(ctx, fig, &pic);
}

/* ---- axes ---- */

TEST(axis__place_and_value_are_inverse_on_every_scale) {
    const axis_scale scales[] = {SCALE_LINEAR, SCALE_LOG, SCALE_SYMLOG};
    for (int s = 0; s < 3; ++s) {
        axis a = axis_make(s == 1 ? 0.01 : -50, 2000, scales[s]);
        CHECK_NEAR(axis_place(&a, a.min), 0, 1e-12);
        CHECK_NEAR(axis_place(&a, a.max), 1, 1e-12);
        for (double place = 0; place <= 1; place += 0.125)
            CHECK_NEAR(axis_place(&a, axis_value(&a, place)), place, 1e-9);
    }
    axis a = axis_make(0.1, 10, SCALE_LOG);
    CHECK_NEAR(axis_place(&a, 1), 0.5, 1e-12);
    CHECK(isnan(axis_place(&a, -1)) && isnan(axis_place(&a, 0)));
}

TEST(axis__limits_that_make_no_axis_are_replaced) {
    const double bad[][2] = {{NAN, 1}, {-INFINITY, INFINITY}, {5, 5},  {0, 0},
                             {3, -3},  {-1e308, 1e308},       {-2, -1}};
    for (int i = 0; i < 7; ++i)
        for (int s = 0; s < 3; ++s) {
            axis a = axis_make(bad[i][0], bad[i][1], (axis_scale)s);
            CHECK(isfinite(a.min) && isfinite(a.max) && a.min < a.max && isfinite(a.from) && a.span > 0);
            ticks t;
            ticks_make(&t, &a, 6);
            CHECK(t.count >= 1 && t.count <= TICKS_MAX);
        }
}

TEST(ticks__stand_at_round_numbers_with_exact_labels) {
    ticks t;
    axis a = axis_make(-1.3, 2.4, SCALE_LINEAR);
    ticks_make(&t, &a, 4);
    CHECK(t.count == 4);
    CHECK_TEXT(t.label[0], "\xE2\x88\x92"
                           "1");
    CHECK_TEXT(t.label[1], "0");
    CHECK_NEAR(axis_value(&a, t.place[3]), 2, 1e-9);
    a = axis_make(0, 10, SCALE_LINEAR);
    ticks_make(&t, &a, 6);
    CHECK(t.count == 6);
    CHECK_TEXT(t.label[1], "2");
    a = axis_make(0, 0.012, SCALE_LINEAR);
    ticks_make(&t, &a, 3);
    CHECK_TEXT(t.label[1], "0.005");
    CHECK_TEXT(t.factor, "");
    a = axis_make(-1.1, 1.7, SCALE_LINEAR); /* with steps of 2 there is 0 alone */
    ticks_make(&t, &a, 2);
    CHECK(t.count == 3);
    CHECK_TEXT(t.label[2], "1");
    a = axis_make(0, 3.2e6, SCALE_LINEAR);
    ticks_make(&t, &a, 4);
    CHECK_TEXT(t.label[3], "3");
    CHECK_TEXT(t.factor, "×10⁶");
}

TEST(ticks__on_logarithmic_scales_stand_at_powers_of_ten) {
    ticks t;
    axis a = axis_make(1, 1000, SCALE_LOG);
    ticks_make(&t, &a, 4);
    CHECK(t.count == 4);
    CHECK_TEXT(t.label[0], "1000");
    CHECK_NEAR(t.place[0], 1, 1e-9);
    a = axis_make(1e-9, 1, SCALE_LOG);
    ticks_make(&t, &a, 5);
    CHECK_TEXT(t.label[1], "10⁻²");
    CHECK_NEAR(axis_value(&a, t.place[1]), 1e-2, 1e-9);
    a = axis_make(2.1, 3.4, SCALE_LOG); /* no power of ten in reach */
    ticks_make(&t, &a, 5);
    CHECK(t.count == 2);
    CHECK_TEXT(t.label[0], "2.5");
    CHECK_NEAR(axis_value(&a, t.place[0]), 2.5, 1e-9);
    a = axis_make(-100, 100, SCALE_SYMLOG);
    ticks_make(&t, &a, 6);
    CHECK_TEXT(t.label[0], "0");
    CHECK_TEXT(t.label[1], "100");
    CHECK_NEAR(t.place[1], 1, 1e-9);
    for (int i = 0; i < t.count; ++i)
        for (int j = 0; j < i; ++j) CHECK(fabs(t.place[i] - t.place[j]) > 0.1);
}

TEST(axes__equal_units_are_equally_long) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    panel *p = figure_panel(fig, 0, 0);
    panel_axes(p, 0, 4, 0, 1000, NULL, NULL, AXES_EQUAL);
    double x = 1;
    panel_scatter(p, 1, &x, &x, 1, &(scatter_style){.ink = colour_ink});
    CHECK_NEAR(panel_place_x(p, 3) - panel_place_x(p, 2), panel_place_y(p, 2) - panel_place_y(p, 3), 2e-3);
    CHECK(p->box.width > 50); /* no sliver */
    end(ctx, fig, NULL);
}

/* ---- colours ---- */

TEST(colour__classes_differ_and_viridis_has_its_ends) {
    for (int i = 0; i < 10; ++i)
        for (int j = -1; j < i; ++j) {
            colour a = colour_class(i), b = colour_class(j);
            CHECK(fabs(a.red - b.red) + fabs(a.green - b.green) + fabs(a.blue - b.blue) > 0.2);
        }
    CHECK(distance(0x440154, colour_continuous(0)) < 1e-9);
    CHECK(distance(0xFDE725, colour_continuous(1)) < 1e-9);
    CHECK(distance(0x440154, colour_continuous(NAN)) < 1e-9);
    CHECK(distance(0xFDE725, colour_continuous(1e300)) < 1e-9);
    double before = 0; /* viridis gets lighter all the way, so that it reads in grey print */
    for (int i = 0; i <= 100; ++i) {
        colour c = colour_continuous(i / 100.0);
        double light = 0.2126 * pow(c.red, 2.2) + 0.7152 * pow(c.green, 2.2) + 0.0722 * pow(c.blue, 2.2);
        CHECK(light > before);
        before = light;
    }
}
