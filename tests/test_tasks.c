/* Tasks: x and y of an image and back, what each degradation does, and which sizes are refused. */
#include "data/tasks/task.h"
#include "data_fixture.h"

enum { ROOM = 32 * 32 * 3 };

typedef struct task_fixture {
    jf_context *ctx;
    recipe *recipe;
    task *task;
} task_fixture;

static jf_status task_try_open(task_fixture *f, const char *keys, int h, int w, int channels) {
    char content[512];
    snprintf(content, sizeof content, "[data]\nset = images\nimages = glyphs\n%s\n", keys);
    *f = (task_fixture){NULL, NULL, NULL};
    JF_TRY(jf_context_create(&f->ctx));
    JF_TRY(recipe_parse(f->ctx, &f->recipe, content, "task.recipe"));
    JF_TRY(dataset_declare(f->recipe, NULL));
    JF_TRY(recipe_check(f->recipe));
    return task_create(f->ctx, &f->task, f->recipe, h, w, channels);
}

static task_fixture task_open(const char *keys, int h, int w, int channels) {
    task_fixture f;
    if (task_try_open(&f, keys, h, w, channels) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", keys, jf_context_error(f.ctx));
    return f;
}

static void task_close(task_fixture *f) {
    task_free(f->task);
    recipe_free(f->recipe);
    jf_context_free(f->ctx);
}

static rng stream_of(int sample) {
    return rng_stream(data_key(0), (uint64_t)sample);
}

static void random_image(int n, double *image) {
    rng stream = stream_of(1000);
    for (int i = 0; i < n; i++) image[i] = rng_uniform(&stream);
}

static const struct {
    const char *keys;
    int h, w, channels, reduction;
} cases[] = {
    {"task = class", 5, 7, 1, 1},
    {"task = class\nlogit = yes", 6, 4, 3, 1},
    {"task = superres", 28, 28, 1, 1},
    {"task = superres\ndown = 1", 28, 12, 3, 2},
    {"task = superres\ndown = 2", 16, 8, 1, 4},
    {"task = blur", 5, 9, 3, 1},
    {"task = blur\nblur = 4", 4, 30, 1, 1},
    {"task = noise", 8, 8, 3, 1},
    {"task = occlusion", 10, 6, 3, 1},
    {"task = occlusion\nmask = yes", 10, 6, 3, 1},
    {"task = occlusion\nmask = yes", 8, 8, 1, 1},
    {"task = motion", 8, 10, 3, 1},
    {"task = motion\nlength = 2.5\nangle = 30", 7, 9, 1, 1},
    {"task = colour", 4, 6, 3, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- what holds for all ---- */

TEST(tasks__restore_gives_back_the_image) {
    for (int i = 0; i < CASES; i++) {
        task_fixture f = task_open(cases[i].keys, cases[i].h, cases[i].w, cases[i].channels);
        const task *t = f.task;
        double image[ROOM], x[ROOM], y[ROOM], restored[ROOM];
        int n = t->size.h * t->size.w * t->image_channels, side = cases[i].reduction;
        random_image(t->h * t->w * t->channels, image);
        rng stream = stream_of(i);
        t->kind->apply(t, image, &stream, x, y);
        t->kind->restore(t, x, y, restored);
        CHECK(t->size.h == t->h / side && t->size.w == t->w / side && t->image_channels == t->channels);
        for (int j = 0; j < n; j++) {
            int c = j % t->channels, column = j / t->channels % t->size.w, row = j / t->channels / t->size.w;
            double mean = 0; /* of the data's pixels that this one stands for */
            for (int k = 0; k < side * side; k++)
                mean += image[((row * side + k / side) * t->w + column * side + k % side) * t->channels + c];
            CHECK_NEAR(restored[j], mean / (side * side), 1e-14);
        }
        task_close(&f);
    }
}

TEST(tasks__condition_of_the_degraded_image_is_y) {
    for (int i = 0; i < CASES; i++) {
        task_fixture f = task_open(cases[i].keys, cases[i].h, cases[i].w, cases[i].channels);
        const task *t = f.task;
        if (!t->kind->by_class) {
            double image[ROOM], x[ROOM], y[ROOM], restored[ROOM], input[ROOM], condition[ROOM];
            random_image(t->h * t->w * t->channels, image);
            rng once = stream_of(i), again = stream_of(i);
            t->kind->apply(t, image, &once, x, y);
            t->kind->restore(t, x, y, restored);
            t->kind->degrade(t, restored, &again, input);
            t->kind->condition(t, input, condition);
            for (int j = 0; j < t->size.h * t->size.w * t->size.y_channels; j++)
                CHECK_NEAR(condition[j], y[j], 1e-14);
        } else {
            CHECK(!t->kind->condition && !t->kind->degrade && t->size.y_channels == 1);
        }
        task_close(&f);
    }
}

TEST(tasks__random_ones_follow_their_stream_and_others_need_none) {
    for (int i = 0; i < CASES; i++) {
        task_fixture f = task_open(cases[i].keys, cases[i].h, cases[i].w, cases[i].channels);
        const task *t = f.task;
        double image[ROOM], x[3][ROOM] = {{0}}, y[3][ROOM] = {{0}};
        random_image(t->h * t->w * t->channels, image);
        for (int k = 0; k < 3; k++) {
            rng stream = stream_of(k / 2); /* 0, 0, 1 */
            t->kind->apply(t, image, t->kind->random ? &stream : NULL, x[k], y[k]);
        }
        CHECK(memcmp(x[0], x[1], sizeof *x) == 0 && memcmp(y[0], y[1], sizeof *y) == 0);
        CHECK((memcmp(x[0], x[2], sizeof *x) != 0) == t->kind->random);
        task_close(&f);
    }
}

TEST(tasks__can_be_made_from_the_size_of_x_and_y) {
    for (int i = 0; i < CASES; i++) {
        task_fixture f = task_open(cases[i].keys, cases[i].h, cases[i].w, cases[i].channels);
        task *same;
        CHECK_STATUS(task_of_size(f.ctx, &same, f.recipe, f.task->size), JF_OK);
        CHECK(same->h == f.task->h && same->w == f.task->w && same->channels == f.task->channels);
        CHECK(memcmp(&same->size, &f.task->size, sizeof same->size) == 0 && same->input_h == f.task->input_h);
        task_free(same);
        image_size wrong = f.task->size;
        wrong.y_channels += 1;
        CHECK_STATUS(task_of_size(f.ctx, &same, f.recipe, wrong), JF_ERROR_SHAPE);
        CHECK(!same);
        wrong = f.task->size;
        wrong.h = 1 << 24;
        CHECK_STATUS(task_of_size(f.ctx, &same, f.recipe, wrong), JF_ERROR_SHAPE);
        task_close(&f);
    }
}

TEST(tasks__sizes_without_sense_are_refused) {
    static const int sizes[][3] = {{0, 4, 1}, {4, -1, 1}, {4, 4, 0}, {2000, 4, 1}, {1024, 1024, 3}};
    for (int i = 0; i < 5; i++) {
        task_fixture f;
        CHECK_STATUS(task_try_open(&f, "task = blur", sizes[i][0], sizes[i][1], sizes[i][2]), JF_ERROR_SHAPE);
        task_close(&f);
    }
}

/* ---- each ---- */

TEST(tasks__logit_keeps_the_ends_and_the_middle_and_spreads_the_rest) {
    task_fixture f = task_open("task = class\nlogit = yes", 1, 5, 1);
    const double image[] = {0, 0.5, 1, 0.02, 0.98};
    double x[5], m = log(0.99 / 0.01), u = 0.01 + 0.98 * 0.02;
    f.task->kind->apply(f.task, image, NULL, x, NULL);
    CHECK_NEAR(x[0], 0, 1e-15);
    CHECK_NEAR(x[1], 0.5, 1e-15);
    CHECK_NEAR(x[2], 1, 1e-15);
    CHECK_NEAR(x[3], (log(u / (1 - u)) + m) / (2 * m), 1e-15);
    CHECK_NEAR(x[3] + x[4], 1, 1e-14);
    const double far[] = {-3, 0, 1, 4, 0.5};
    double restored[5];
    f.task->kind->restore(f.task, far, NULL, restored);
    CHECK(restored[0] > -0.011 && restored[3] < 1.011); /* whatever x is */
    task_close(&f);
}

TEST(tasks__superres_has_means_of_2x2_pixels_in_y_and_x_sums_to_zero_over_them) {
    task_fixture f = task_open("task = superres\ndown = 1", 4, 4, 1);
    const double image[] = {1, 3, 0, 4, 5, 7, 8, 8, 0, 0, 1, 1, 0, 4, 1, 1};
    double x[4], y[4], input[1];
    CHECK(f.task->size.h == 2 && f.task->size.w == 2 && f.task->input_h == 1 && f.task->input_w == 1);
    f.task->kind->apply(f.task, image, NULL, x, y);
    const double small[] = {4, 5, 1, 1}; /* after one halving */
    for (int i = 0; i < 4; i++) {
        CHECK_NEAR(y[i], 2.75, 1e-15);
        CHECK_NEAR(x[i], small[i] - 2.75, 1e-15);
    }
    f.task->kind->degrade(f.task, small, NULL, input);
    CHECK_NEAR(input[0], 2.75, 1e-15);
    task_close(&f);
}

TEST(tasks__superres_keeps_the_mean_of_every_cell) {
    task_fixture f = task_open("task = superres", 6, 8, 3);
    double image[ROOM], x[ROOM], y[ROOM];
    random_image(6 * 8 * 3, image);
    f.task->kind->apply(f.task, image, NULL, x, y);
    for (int row = 0; row < 6; row += 2) {
        for (int at = row * 24; at < row * 24 + 24; at++) {
            if (at / 3 % 2) continue; /* the right half of a cell */
            CHECK_NEAR(y[at], (image[at] + image[at + 3] + image[at + 24] + image[at + 27]) / 4, 1e-15);
            CHECK(y[at] == y[at + 3] && y[at] == y[at + 24] && y[at] == y[at + 27]);
            CHECK_NEAR(x[at] + x[at + 3] + x[at + 24] + x[at + 27], 0, 1e-14);
        }
    }
    task_close(&f);
}

TEST(tasks__superres_says_which_sizes_it_can_halve) {
    task_fixture f;
    CHECK_STATUS(task_try_open(&f, "task = superres\ndown = 2", 28, 28, 1), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(f.ctx), "data.down: found 2, expected at most 1 for images of 28x28");
    CHECK_HAS(jf_context_error(f.ctx), "divide by 8");
    task_close(&f);
    CHECK_STATUS(task_try_open(&f, "task = superres", 28, 27, 1), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(f.ctx), "28x27, expected even sides");
    task_close(&f);
}

/* The weight of each pixel in the definition: a sum over a plane of mirror images. */
TEST(tasks__blur_is_a_gaussian_over_mirrored_images) {
    enum { H = 5, W = 6 };
    task_fixture f = task_open("task = blur\nblur = 1.3", H, W, 1);
    double image[H * W], y[H * W], x[H * W], before = 0, after = 0;
    random_image(H * W, image);
    f.task->kind->apply(f.task, image, NULL, x, y);
    for (int i = 0; i < H; i++) {
        for (int j = 0; j < W; j++) {
            double sum = 0, weights = 0;
            for (int k = -6; k <= 6; k++) { /* ceil(4 * 1.3) */
                for (int l = -6; l <= 6; l++) {
                    int row = (i + k + 4 * H) % (2 * H), column = (j + l + 4 * W) % (2 * W);
                    if (row >= H) row = 2 * H - 1 - row;
                    if (column >= W) column = 2 * W - 1 - column;
                    double weight = exp(-(k * k + l * l) / (2 * 1.3 * 1.3));
                    sum += weight * image[row * W + column];
                    weights += weight;
                }
            }
            CHECK_NEAR(y[i * W + j], sum / weights, 1e-13);
            before += image[i * W + j];
            after += y[i * W + j];
        }
    }
    CHECK_NEAR(after, before, 1e-12);
    task_close(&f);
}

TEST(tasks__noise_has_its_deviation_and_is_x) {
    task_fixture f = task_open("task = noise\ndeviation = 0.3", 32, 32, 1);
    double image[1024], x[1024], y[1024], sum = 0, square = 0;
    random_image(1024, image);
    for (int k = 0; k < 20; k++) {
        rng stream = stream_of(k);
        f.task->kind->apply(f.task, image, &stream, x, y);
        for (int i = 0; i < 1024; i++) {
            CHECK_NEAR(image[i] - y[i], x[i], 1e-15);
            sum += x[i] / 20480;
            square += x[i] * x[i] / 20480;
        }
    }
    CHECK_NEAR(sum, 0, 4.5 * 0.3 / sqrt(20480));
    CHECK_NEAR(sqrt(square), 0.3, 4.5 * 0.3 / sqrt(2 * 20480));
    task_close(&f);
}

TEST(tasks__occlusion_cuts_one_hole_of_its_size_anywhere) {
    task_fixture f = task_open("task = occlusion\nocclusion = 0.3", 10, 20, 1);
    double image[200], x[200], y[200];
    int touched[200] = {0};
    for (int i = 0; i < 200; i++) image[i] = 0.5;
    for (int k = 0; k < 400; k++) {
        rng stream = stream_of(k);
        int holes = 0, top = 10, left = 20, bottom = -1, right = -1;
        f.task->kind->apply(f.task, image, &stream, x, y);
        for (int i = 0; i < 200; i++) {
            CHECK(y[i] == 0.5 || y[i] == 0);
            CHECK(x[i] == 0.5 - y[i]);
            if (y[i] != 0) continue;
            holes++;
            touched[i] = 1;
            top = i / 20 < top ? i / 20 : top;
            bottom = i / 20 > bottom ? i / 20 : bottom;
            left = i % 20 < left ? i % 20 : left;
            right = i % 20 > right ? i % 20 : right;
        }
        CHECK(holes == 18 && bottom - top == 2 && right - left == 5); /* 3 x 6, in one piece */
    }
    for (int i = 0; i < 200; i++) CHECK(touched[i] || i == 0 || i == 19 || i == 180 || i == 199);
    task_close(&f);
}

TEST(tasks__occlusion_tells_the_hole_in_a_channel_of_its_own) {
    for (int channels = 1; channels <= 3; channels += 2) {
        task_fixture f = task_open("task = occlusion\nocclusion = 0.3\nmask = yes", 10, 20, channels);
        const task *t = f.task;
        double image[600], x[600], y[800];
        CHECK(t->masked && t->size.y_channels == channels + 1 && t->size.x_channels == channels);
        for (int i = 0; i < 200 * channels; i++)
            image[i] = i % 3 ? 0.5 : 0; /* black pixels outside of the hole, too */
        for (int k = 0; k < 20; k++) {
            rng stream = stream_of(k);
            int covered = 0;
            t->kind->apply(t, image, &stream, x, y);
            for (int i = 0; i < 200 * channels; i++) {
                int pixel = i / channels, hole = y[pixel * (channels + 1) + channels] == 1;
                CHECK(hole || y[pixel * (channels + 1) + channels] == 0);
                CHECK(y[pixel * (channels + 1) + i % channels] == (hole ? 0 : image[i]));
                CHECK(x[i] == (hole ? image[i] : 0));
                covered += hole;
            }
            CHECK(covered == 18 * channels);
        }
        task_close(&f);
    }
}

TEST(tasks__motion_is_the_mean_along_a_line_and_keeps_the_sum) {
    enum { H = 9, W = 11 };
    static const struct {
        const char *keys;
        int right, down; /* of the ends of the line from its middle */
    } lines[] = {{"task = motion\nlength = 4\nangle = 0", 2, 0},
                 {"task = motion\nlength = 4\nangle = 90", 0, -2}};
    for (int k = 0; k < 2; k++) {
        task_fixture f = task_open(lines[k].keys, H, W, 1);
        double image[H * W] = {0}, input[H * W], sum = 0;
        image[4 * W + 5] = 1;
        f.task->kind->degrade(f.task, image, NULL, input);
        for (int i = 0; i < H * W; i++) sum += input[i];
        CHECK_NEAR(sum, 1, 1e-12);
        CHECK_NEAR(input[4 * W + 5], 0.25, 0.02); /* a pixel of a way of four */
        CHECK(input[(4 + lines[k].down) * W + 5 + lines[k].right] > 0.05);
        CHECK(input[(4 - lines[k].down) * W + 5 - lines[k].right] > 0.05);
        CHECK(input[(4 + lines[k].right) * W + 5 + lines[k].down] == 0);
        task_close(&f);
    }
    /* a slanted line rises to the right; a flat image stays as it is */
    task_fixture f = task_open("task = motion\nlength = 6\nangle = 45", H, W, 1);
    double image[H * W] = {0}, input[H * W];
    image[4 * W + 5] = 1;
    f.task->kind->degrade(f.task, image, NULL, input);
    CHECK(input[3 * W + 6] > 0.05 && input[5 * W + 4] > 0.05 && input[3 * W + 4] < 0.01);
    for (int i = 0; i < H * W; i++) image[i] = 0.3;
    f.task->kind->degrade(f.task, image, NULL, input);
    for (int i = 0; i < H * W; i++) CHECK_NEAR(input[i], 0.3, 1e-12);
    task_close(&f);
}

TEST(tasks__colour_takes_the_luminance_from_each_channel) {
    task_fixture f = task_open("task = colour", 1, 2, 3);
    const double image[] = {1, 0, 0, 0.5, 0.5, 0.5};
    double x[6], y[2];
    f.task->kind->apply(f.task, image, NULL, x, y);
    CHECK(f.task->size.y_channels == 1 && f.task->input_channels == 1 && f.task->size.x_channels == 3);
    CHECK_NEAR(y[0], 0.299, 1e-15);
    CHECK_NEAR(y[1], 0.5, 1e-15);
    CHECK_NEAR(x[0], 0.701, 1e-15);
    CHECK_NEAR(x[1], -0.299, 1e-15);
    CHECK_NEAR(x[2], -0.299, 1e-15);
    for (int c = 3; c < 6; c++) CHECK_NEAR(x[c], 0, 1e-15); /* grey has no colour */
    task_close(&f);
}
