/* Tests of src/draw: points, lines, bars, fields, curves. */
#include "draw_fixture.h"

#include <float.h>

/* ---- points ---- */

TEST(scatter__paints_points_at_their_places_only) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    panel *p = plain_panel(fig);
    const double xy[] = {0.5, 0.5, 0.25, 0.75};
    panel_scatter(p, 2, xy, xy + 1, 2, &(scatter_style){.ink = colour_class(0), .radius = 3, .alpha = 1});
    picture pic = save_and_load(fig);
    CHECK(distance(pixel_of(&pic, p, 0.5, 0.5), colour_class(0)) < 0.02);
    CHECK(distance(pixel_of(&pic, p, 0.25, 0.75), colour_class(0)) < 0.02);
    CHECK(pixel_of(&pic, p, 0.75, 0.25) == 0xFFFFFF);
    /* two discs: 2 pi r^2 */
    double pixels = 2 * 3.14159 * 9 * DRAW_SCALE * DRAW_SCALE;
    CHECK_NEAR((double)count_near(&pic, inside_of(p->box), colour_class(0)), pixels, 0.25 * pixels);
    end(ctx, fig, &pic);
}

TEST(scatter__is_clipped_to_the_axes) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    panel *p = plain_panel(fig);
    const double x[] = {-0.02, 1.02, 0.5, 0.5, -5, 1e300}, y[] = {0.5, 0.5, -0.02, 1.02, 0.5, 0.5};
    panel_scatter(p, 6, x, y, 1, &(scatter_style){.ink = colour_class(1), .radius = 10, .alpha = 1});
    picture pic = save_and_load(fig);
    rectangle left = {0, 0, p->box.left - 1, 260}, top = {0, 0, 300, p->box.top - 1};
    CHECK(count_near(&pic, p->box, colour_class(1)) > 50); /* the parts inside */
    CHECK(count_not_white(&pic, left) == 0 && count_not_white(&pic, top) == 0);
    end(ctx, fig, &pic);
}

TEST(scatter__colours_by_class_and_by_value) {
    jf_context *ctx = new_context();
    const double x[] = {0.25, 0.5, 0.75}, values[] = {-1, NAN, 3};
    const int classes[] = {1, 2, -1};
    for (int by_value = 0; by_value < 2; ++by_value) {
        figure *fig = new_figure(ctx, 1, 1);
        panel *p = plain_panel(fig);
        scatter_style style = {.radius = 4, .alpha = 1, .low = -1, .high = 3};
        if (by_value) style.values = values;
        if (!by_value) style.classes = classes;
        panel_scatter(p, 3, x, x, 1, &style);
        picture pic = save_and_load(fig);
        colour first = by_value ? colour_continuous(0) : colour_class(1);
        colour third = by_value ? colour_continuous(1) : colour_class(-1);
        CHECK(distance(pixel_of(&pic, p, 0.25, 0.25), first) < 0.02);
        CHECK(distance(pixel_of(&pic, p, 0.75, 0.75), third) < 0.02);
        if (by_value)
            CHECK(pixel_of(&pic, p, 0.5, 0.5) == 0xFFFFFF);
        else
            CHECK(distance(pixel_of(&pic, p, 0.5, 0.5), colour_class(2)) < 0.02);
        end(NULL, fig, &pic);
    }
    jf_context_free(ctx);
}

TEST(scatter__shows_a_million_points_and_still_a_single_one) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    panel *p = plain_panel(fig);
    const long n = 1000000;
    double *xy = NULL;
    CHECK_STATUS(MEM_NEW(ctx, &xy, 2 * (size_t)n), JF_OK);
    rng r = rng_stream((rng_key){.seed = 1, .purpose = RNG_TEST}, 0);
    for (long i = 0; i < n; ++i) xy[2 * i] = 0.3 + 0.1 * rng_uniform(&r), xy[2 * i + 1] = rng_uniform(&r);
    xy[0] = 0.8, xy[1] = 0.5;
    panel_scatter(p, n, xy, xy + 1, 2, &(scatter_style){.ink = colour_class(0)});
    picture pic = save_and_load(fig);
    CHECK(distance(pixel_of(&pic, p, 0.35, 0.5), colour_class(0)) < 0.3);
    double dx = 3 / p->box.width, dy = 3 / p->box.height;
    rectangle around = {panel_place_x(p, 0.8 - dx), panel_place_y(p, 0.5 + dy), 6, 6};
    CHECK(count_not_white(&pic, around) > 0);
    CHECK(pixel_of(&pic, p, 0.6, 0.5) == 0xFFFFFF);
    free(xy);
    end(ctx, fig, &pic);
}

TEST(legend__keeps_off_the_data) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    panel *p = plain_panel(fig);
    double xy[800]; /* everywhere but in the lower left */
    for (int i = 0; i < 400; ++i) {
        xy[2 * i] = (i % 20 + 0.5) / 20, xy[2 * i + 1] = (i / 20 + 0.5) / 20;
        if (xy[2 * i] < 0.6 && xy[2 * i + 1] < 0.5) xy[2 * i] = NAN;
    }
    panel_scatter(p, 400, xy, xy + 1, 2,
                  &(scatter_style){.ink = colour_class(0), .alpha = 1, .label = "points"});
    picture pic = save_and_load(fig);
    CHECK(count_near(&pic, (rectangle){p->box.left + 4, p->box.top + p->box.height * 0.6, 90, 80},
                     colour_ink) > 10);
    CHECK(distance(pixel_of(&pic, p, 0.975, 0.975), colour_class(0)) < 0.05);
    CHECK(distance(pixel_of(&pic, p, 0.025, 0.975), colour_class(0)) < 0.05);
    CHECK(distance(pixel_of(&pic, p, 0.975, 0.025), colour_class(0)) < 0.05);
    end(ctx, fig, &pic);
}

/* ---- lines, bars, fields ---- */

TEST(line__goes_through_its_points_and_breaks_at_gaps) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    panel *p = plain_panel(fig);
    const double x[] = {0, 0.4, 0.5, 0.6, 1}, y[] = {0.5, 0.5, NAN, 0.5, 0.5};
    panel_line(p, 5, x, y, 1, &(line_style){.ink = colour_class(2), .width = 4});
    panel_vertical(p, 0.5, &(line_style){.ink = colour_class(1), .width = 4});
    panel_horizontal(p, 0.1, &(line_style){.ink = colour_class(0), .width = 4});
    panel_vertical(p, NAN, &(line_style){.ink = colour_ink});
    picture pic = save_and_load(fig);
    CHECK(distance(pixel_of(&pic, p, 0.2, 0.5), colour_class(2)) < 0.02);
    CHECK(distance(pixel_of(&pic, p, 0.8, 0.5), colour_class(2)) < 0.02);
    CHECK(pixel_of(&pic, p, 0.45, 0.5) == 0xFFFFFF);
    CHECK(distance(pixel_of(&pic, p, 0.5, 0.9), colour_class(1)) < 0.02);
    CHECK(distance(pixel_of(&pic, p, 0.9, 0.1), colour_class(0)) < 0.02);
    end(ctx, fig, &pic);
}

TEST(line__of_a_million_points_keeps_its_envelope) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    panel *p = plain_panel(fig);
    const long n = 1000000;
    double *xy = NULL;
    CHECK_STATUS(MEM_NEW(ctx, &xy, 2 * (size_t)n), JF_OK);
    for (long i = 0; i < n; ++i) xy[2 * i] = (double)i / n, xy[2 * i + 1] = i % 97 ? 0.5 : i % 2 ? 0.3 : 0.6;
    panel_line(p, n, xy, xy + 1, 2, &(line_style){.ink = colour_class(0)});
    picture pic = save_and_load(fig);
    CHECK(distance(pixel_of(&pic, p, 0.5, 0.32), colour_class(0)) < 0.05);
    CHECK(distance(pixel_of(&pic, p, 0.7, 0.58), colour_class(0)) < 0.05);
    CHECK(pixel_of(&pic, p, 0.5, 0.65) == 0xFFFFFF && pixel_of(&pic, p, 0.5, 0.25) == 0xFFFFFF);
    free(xy);
    end(ctx, fig, &pic);
}

TEST(bars__fill_from_zero_to_their_heights) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    panel *p = plain_panel(fig);
    const double edges[] = {0.1, 0.4, 0.6, 0.9}, heights[] = {0.8, NAN, 0.3};
    panel_bars(p, 3, edges, heights, 1, &(line_style){.ink = colour_class(1)});
    picture pic = save_and_load(fig);
    CHECK(pixel_of(&pic, p, 0.25, 0.4) != 0xFFFFFF && pixel_of(&pic, p, 0.75, 0.15) != 0xFFFFFF);
    CHECK(pixel_of(&pic, p, 0.25, 0.9) == 0xFFFFFF && pixel_of(&pic, p, 0.75, 0.4) == 0xFFFFFF);
    CHECK(pixel_of(&pic, p, 0.5, 0.1) == 0xFFFFFF);
    CHECK(distance(pixel_of(&pic, p, 0.4, 0.5), colour_class(1)) < 0.3); /* the edge is drawn down */
    end(ctx, fig, &pic);
}

TEST(quantiles__put_a_dot_at_the_median) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    panel *p = plain_panel(fig);
    const double x[] = {0.5, 0.8}, q[] = {0.1, 0.3, 0.5, 0.7, 0.9, NAN, NAN, NAN, NAN, NAN};
    panel_quantiles(p, 2, x, q, &(line_style){.ink = colour_class(0)});
    picture pic = save_and_load(fig);
    CHECK(pixel_of(&pic, p, 0.5, 0.5) == 0xFFFFFF); /* the dot's middle */
    CHECK(distance(pixel_of(&pic, p, 0.5, 0.35), colour_class(0)) < 0.05);
    CHECK(pixel_of(&pic, p, 0.5, 0.95) == 0xFFFFFF && pixel_of(&pic, p, 0.8, 0.5) == 0xFFFFFF);
    end(ctx, fig, &pic);
}

TEST(histogram__is_a_density) {
    const double values[] = {-1, 0.1, 0.1, 0.6, 0.9, 1, NAN, INFINITY};
    double density[2];
    draw_histogram(8, values, 1, 0, 1, 2, density);
    CHECK_NEAR(density[0], 2 / 6.0 / 0.5, 1e-12); /* 2 of 6 finite values in a bin of 1/2 */
    CHECK_NEAR(density[1], 2 / 6.0 / 0.5, 1e-12);
    draw_histogram(0, NULL, 1, 0, 1, 2, density);
    CHECK(density[0] == 0 && density[1] == 0);
    draw_histogram(8, values, 1, 1, 1, 2, density);
    CHECK(density[0] == 0 && density[1] == 0);
}

TEST(range__ignores_what_is_not_finite) {
    const double values[] = {NAN, 2, 99, 4, 99, -INFINITY, 99};
    double low, high;
    draw_range(4, values, 2, 0.5, &low, &high); /* NAN, 99, 99, 99 */
    CHECK(low == 99 && high == 99);
    draw_range(4, values, 1, 0, &low, &high);
    CHECK(low == 2 && high == 99);
    draw_range(1, values, 1, 0.1, &low, &high);
    CHECK(low < 1 && high >= 1);
}

TEST(histogram_lines__show_the_flagged_ones_in_another_colour) {
    jf_context *ctx = new_context();
    enum { LINES = 20, BINS = 40 };
    double density[LINES * BINS];
    unsigned char flagged[LINES] = {0};
    for (int i = 0; i < LINES; ++i)
        for (int b = 0; b < BINS; ++b) {
            double x = -4 + (b + 0.5) * 0.2 - (i == 7 ? 2 : 0);
            density[i * BINS + b] = exp(-x * x / 2) / 2.5066;
        }
    density[3 * BINS + 10] = NAN;
    long warned[2];
    for (int flag = 0; flag < 2; ++flag) {
        flagged[7] = (unsigned char)flag;
        figure *fig = new_figure(ctx, 1, 1);
        panel *p = figure_panel(fig, 0, 0);
        panel_axes(p, -4, 4, 0, 0.9, "z", "density", 0);
        panel_histogram_lines(p, LINES, BINS, -4, 4, density, flagged);
        picture pic = save_and_load(fig);
        rectangle around_its_peak = {panel_place_x(p, 1), panel_place_y(p, 0.42), p->box.width / 4, 20};
        warned[flag] = count_near(&pic, around_its_peak, colour_warning);
        CHECK(distance(pixel_of(&pic, p, 0, 0.3989), colour_ink) < 0.3); /* N(0, 1) */
        end(NULL, fig, &pic);
    }
    CHECK(warned[0] == 0 && warned[1] > 15);
    jf_context_free(ctx);
}

TEST(heat__row_zero_is_at_the_bottom_and_gaps_stay_white) {
    jf_context *ctx = new_context();
    for (int smooth = 0; smooth < 2; ++smooth) {
        figure *fig = new_figure(ctx, 1, 1);
        panel *p = plain_panel(fig);
        const double values[] = {0, 1, NAN, 0.5, 0, 0.5}; /* (2, 3) */
        panel_heat(p, &(heat_grid){2, 3, values, 0, 0.9, 0, 1, 0, 1, smooth});
        picture pic = save_and_load(fig);
        CHECK(distance(pixel_of(&pic, p, 0.15, 0.25), colour_continuous(0)) < 0.05);
        CHECK(distance(pixel_of(&pic, p, 0.45, 0.25), colour_continuous(1)) < 0.05);
        CHECK(distance(pixel_of(&pic, p, 0.15, 0.75), colour_continuous(0.5)) < 0.05);
        CHECK(pixel_of(&pic, p, 0.75, 0.25) == 0xFFFFFF);
        CHECK(pixel_of(&pic, p, 0.95, 0.5) == 0xFFFFFF); /* outside the grid */
        end(NULL, fig, &pic);
    }
    jf_context_free(ctx);
}

TEST(panels__without_anything_to_show_say_so) {
    jf_context *ctx = new_context();
    const double bad[] = {NAN, INFINITY, -INFINITY, NAN, NAN};
    for (int kind = 0; kind < 8; ++kind) {
        figure *fig = new_figure(ctx, 1, 1);
        panel *p = figure_panel(fig, 0, 0);
        line_style pen = {.ink = colour_ink, .label = "nothing"};
        if (kind < 7) p = plain_panel(fig);
        if (kind == 0) panel_scatter(p, 0, NULL, NULL, 1, &(scatter_style){.ink = colour_ink});
        if (kind == 1)
            panel_scatter(p, 5, bad, bad, 1, &(scatter_style){.ink = colour_ink, .label = "nothing"});
        if (kind == 2) panel_line(p, 5, bad, bad, 1, &pen);
        if (kind == 3) panel_bars(p, 4, bad, bad, 1, &pen);
        if (kind == 4) panel_quantiles(p, 1, bad, bad, &pen);
        if (kind == 5) panel_histogram_lines(p, 1, 5, -4, 4, bad, NULL);
        if (kind == 6) panel_heat(p, &(heat_grid){1, 5, bad, 0, 1, 0, 1, 0, 1, 1});
        if (kind == 7)
            panel_curves(p, 1, &(curve){"nothing", 5, bad, bad}, 0, NULL, "epoch", "loss", AXES_LOG_Y);
        picture pic = save_and_load(fig);
        double x = p->box.left + p->box.width / 2, y = p->box.top + p->box.height / 2;
        CHECK(count_near(&pic, (rectangle){x - 30, y - 8, 60, 16}, colour_quiet) > 20);
        end(NULL, fig, &pic);
    }
    jf_context_free(ctx);
}

TEST(panels__take_values_far_out_of_range) {
    jf_context *ctx = new_context();
    figure *fig = new_figure(ctx, 1, 1);
    panel *p = plain_panel(fig);
    const double x[] = {-1e300, 0, 0.5, 1e300, DBL_MAX}, y[] = {1e300, -1e300, 0.5, 0.5, -DBL_MAX};
    panel_line(p, 5, x, y, 1, &(line_style){.ink = colour_class(0)});
    panel_bars(p, 4, x, y, 1, &(line_style){.ink = colour_class(1)});
    panel_scatter(p, 5, x, y, 1, &(scatter_style){.ink = colour_class(2), .alpha = 1, .radius = 4});
    picture pic = save_and_load(fig);
    CHECK(distance(pixel_of(&pic, p, 0.5, 0.5), colour_class(2)) < 0.02);
    end(ctx, fig, &pic);
}

/* ---- curves ---- */

TEST(curves__mark_the_phases_and_choose_a_scale_that_shows_all) {
    jf_context *ctx = new_context();
    double epoch[100], loss[100];
    for (int i = 0; i < 100; ++i) epoch[i] = i, loss[i] = 10 * exp(-i / 10.0) - 1;
    const curve_phase phases[] = {{"precondition", 0}, {"anneal", 40}, {"train", 60}};
    figure *fig = new_figure(ctx, 1, 1);
    panel *p = figure_panel(fig, 0, 0);
    panel_curves(p, 1, &(curve){"loss", 100, epoch, loss}, 3, phases, "epoch", "loss", AXES_LOG_Y);
    CHECK(p->y.scale == SCALE_SYMLOG); /* some are negative */
    picture pic = save_and_load(fig);
    CHECK(distance(pixel_of(&pic, p, epoch[80], loss[80]), colour_class(0)) < 0.1);
    rectangle boundary = {panel_place_x(p, 60) - 1, p->box.top + 60, 2, 80};
    CHECK(count_near(&pic, boundary, colour_quiet) > 20);
    CHECK(pixel_of(&pic, p, 52, 1.5) != 0xFFFFFF &&
          pixel_of(&pic, p, 32.5, 1.5) == 0xFFFFFF); /* shaded band */
    rectangle names = {p->box.left, p->box.top - 26, p->box.width, 16};
    CHECK(count_near(&pic, names, colour_quiet) > 100);
    end(ctx, fig, &pic);
}
