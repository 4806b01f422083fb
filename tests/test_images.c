/* Sources of images: values, labels, what is kept of them, and what is refused. */
#include "images_fixture.h"

#include "base/permutation.h"
#include "data/images/image_set.h"
#include "io/npy.h"
#include "io/png.h"

#include <unistd.h>

/* x of a row is image number `number` of those made by the fixture */
static int is_image(const dataset *d, long row, long number) {
    double xy[2048];
    CHECK(dataset_dim(d) <= 2048);
    data_row(d, row, xy);
    for (int i = 0; i < d->dim_x; i++)
        if (xy[i] != image_byte(number, i) / 255.0) return 0;
    return 1;
}

/* The number of the image that a row is. */
static long number_of(const dataset *d, long row, long numbers) {
    long number = 0;
    while (number < numbers && !is_image(d, row, number)) number++;
    CHECK(number < numbers);
    return number;
}

/* 30 images to train on and 9 held out, of 2x3, in 3 classes */
static void put_set(const char *folder) {
    put_idx_part(folder, "train", 0, 30, 2, 3, 3);
    put_idx_part(folder, "t10k", 30, 9, 2, 3, 3);
}

/* ---- folders of IDX files ---- */

TEST(images__idx_files_give_images_and_classes_and_t10k_is_held_out) {
    put_set("set");
    data_fixture f = images_open("set", "");
    const dataset *d = f.set;
    CHECK(d->rows == 30 && d->validation_rows == 9 && d->classes == 3);
    CHECK(d->image.h == 2 && d->image.w == 3 && d->image.x_channels == 1 && d->image.y_channels == 1);
    CHECK(d->dim_x == 6 && d->dim_y == 6 && d->bytes == 39 * 6 && d->task);
    for (long row = 0; row < 39; row++) {
        CHECK(is_image(d, row, row));
        CHECK(d->kind->row_class(d, row) == row % 3);
    }
    CHECK_TEXT(d->class_name[2], "2");
    data_close(&f);
}

TEST(images__compressed_files_give_the_same) {
    put_set("set");
    CHECK(system(NULL));
    char command[512];
    snprintf(command, sizeof command, "gzip %s/*", test_path("set"));
    if (system(command) != 0) SKIP("there is no gzip here");
    data_fixture f = images_open("set", "");
    CHECK(f.set->rows == 30 && f.set->validation_rows == 9);
    for (long row = 0; row < 39; row++) CHECK(is_image(f.set, row, row));
    data_close(&f);
}

TEST(images__chosen_classes_are_numbered_anew_in_their_order) {
    put_set("set");
    data_fixture f = images_open("set", "classes = 2,0");
    const dataset *d = f.set;
    CHECK(d->rows == 20 && d->validation_rows == 6 && d->classes == 2);
    CHECK_TEXT(d->class_name[0], "2");
    CHECK_TEXT(d->class_name[1], "0");
    for (long row = 0; row < 26; row++) {
        long number = number_of(d, row, 39);
        CHECK(number % 3 != 1 && (number < 30) == (row < 20));
        CHECK(d->kind->row_class(d, row) == (number % 3 == 2 ? 0 : 1));
    }
    CHECK(d->label[0] == 0 && d->label[1] == 1);
    double xy[12];
    dataset_draw(d, data_key(0), 0, 1, 1, xy);
    for (int i = 6; i < 12; i++) CHECK(xy[i] == 1); /* a plane of the label */
    dataset_standardise(d, 1, xy);
    for (int i = 6; i < 12; i++) CHECK(xy[i] == 1); /* mean 1/2, deviation 1/2 */
    data_close(&f);
}

TEST(images__limit_takes_the_same_rows_every_time_and_of_all_classes) {
    put_set("set");
    data_fixture f = images_open("set", "limit = 12"), g = images_open("set", "limit = 12");
    int of_class[3] = {0};
    CHECK(f.set->rows == 12 && f.set->validation_rows == 9);
    long before = -1;
    for (long row = 0; row < 12; row++) {
        long number = number_of(f.set, row, 30);
        CHECK(number > before && is_image(g.set, row, number)); /* in their order */
        before = number;
        of_class[number % 3]++;
    }
    CHECK(of_class[0] && of_class[1] && of_class[2]);
    for (long row = 12; row < 21; row++) CHECK(is_image(f.set, row, 18 + row));
    data_close(&f);
    data_close(&g);
    f = images_open("set", "limit = 31");
    CHECK(f.set->rows == 30);
    data_close(&f);
}

TEST(images__without_a_test_set_a_share_is_held_out) {
    put_idx_part("set", "train", 0, 30, 2, 3, 3);
    data_fixture f = images_open("set", "validation = 0.2");
    int seen[30] = {0};
    CHECK(f.set->rows == 24 && f.set->validation_rows == 6);
    for (long row = 0; row < 30; row++) seen[number_of(f.set, row, 30)]++;
    for (int i = 0; i < 30; i++) CHECK(seen[i] == 1); /* none is in both parts */
    double xy[12], held[12];
    data_row(f.set, 24 + (long)validation_row(6, 0), xy);
    dataset_validation(f.set, 0, 1, held);
    CHECK(memcmp(xy, held, 6 * sizeof *xy) == 0);
    data_close(&f);
    f = images_open("set", "validation = 0");
    CHECK(f.set->rows == 30 && f.set->validation_rows == 0);
    data_close(&f);
}

TEST(images__a_folder_called_like_a_known_set_has_its_class_names) {
    put_idx_part("fashion-mnist", "train", 0, 20, 2, 2, 10);
    data_fixture f = images_open("fashion-mnist", "classes = Ankle-Boot, t-shirt, shirt 3");
    CHECK(f.set->classes == 4);
    CHECK_TEXT(f.set->class_name[0], "boot");
    CHECK_TEXT(f.set->class_name[1], "tshirt");
    CHECK_TEXT(f.set->class_name[2], "shirt");
    CHECK_TEXT(f.set->class_name[3], "dress");
    data_close(&f);
    images_refuse("fashion-mnist", "classes = shirt, blouse", JF_ERROR_RECIPE,
                  "data.classes: found \"blouse\"", "sneaker, bag, boot");
    images_refuse("fashion-mnist", "classes = shirt, 6", JF_ERROR_RECIPE, "data.classes", "\"shirt\" twice");
    images_refuse("fashion-mnist", "classes = 10", JF_ERROR_RECIPE, "data.classes", "found \"10\"");
}

TEST(images__parts_that_do_not_fit_are_refused) {
    put_idx_part("set", "train", 0, 30, 2, 3, 3);
    CHECK(remove(path_in("set", "train-labels-idx1-ubyte")) == 0);
    images_refuse("set", "", JF_ERROR_IO, "train-images-idx3-ubyte", "no train-labels-idx1-ubyte");
    put_idx_part("other", "train", 0, 29, 2, 3, 3);
    CHECK(rename(path_in("other", "train-labels-idx1-ubyte"), path_in("set", "train-labels-idx1-ubyte")) ==
          0);
    images_refuse("set", "", JF_ERROR_SHAPE, "29 labels, expected 30", "train-images-idx3-ubyte");
    put_set("set");
    put_idx_part("set", "t10k", 0, 5, 3, 3, 3);
    images_refuse("set", "", JF_ERROR_SHAPE, "t10k-images-idx3-ubyte: images of 3x3, expected 2x3",
                  "train-images-idx3-ubyte");
}

TEST(images__labels_out_of_range_are_refused) {
    put_idx_part("mnist", "train", 0, 30, 2, 2, 11);
    images_refuse("mnist", "", JF_ERROR_DATA, "train-labels-idx1-ubyte: label 11 is 10", "expected 0 to 9");
    put_idx_part("any", "train", 0, 70, 2, 2, 66);
    images_refuse("any", "", JF_ERROR_DATA, "label 65 is 64", "expected 0 to 63");
}

TEST(images__a_class_without_images_to_train_on_is_refused) {
    put_idx_part("mnist", "train", 0, 30, 2, 2, 9); /* no 9 */
    images_refuse("mnist", "classes = 1,9", JF_ERROR_RECIPE, "data.classes", "no image of class \"9\"");
    images_refuse("mnist", "classes = 9\ntask = superres", JF_ERROR_RECIPE, "data.images", "no image");
    data_fixture f = images_open("mnist", "");
    CHECK(f.set->classes == 9); /* all that there are */
    data_close(&f);
}

/* ---- folders of pictures ---- */

static void put_picture(const char *folder, const char *name, int h, int w, int channels, long number) {
    jf_context *ctx = new_context();
    uint8_t bytes[4096];
    for (int i = 0; i < h * w * channels; i++) bytes[i] = image_byte(number, i);
    CHECK_STATUS(pixels_write(ctx, path_in(folder, name), &(pixels){h, w, channels, bytes}), JF_OK);
    jf_context_free(ctx);
}

TEST(images__folders_of_pictures_are_classes_in_the_order_of_their_names) {
    mkdir(test_path("zoo"), 0777);
    put_picture("zoo/gnu", "2.png", 4, 2, 3, 3);
    put_picture("zoo/gnu", "1.PNG", 4, 2, 3, 2);
    put_picture("zoo/ape", "b.png", 4, 2, 3, 1);
    put_picture("zoo/ape", "a.png", 4, 2, 3, 0);
    put_quickly(path_in("zoo/ape", "notes.txt"), "", 0);
    put_quickly(path_in("zoo/ape", ".hidden.png"), "", 0);
    data_fixture f = images_open("zoo", "validation = 0");
    CHECK(f.set->rows == 4 && f.set->classes == 2 && f.set->image.x_channels == 3 &&
          f.set->image.y_channels == 1);
    CHECK(f.set->dim_x == 24 && f.set->dim_y == 8);
    CHECK_TEXT(f.set->class_name[0], "ape");
    CHECK_TEXT(f.set->class_name[1], "gnu");
    for (long row = 0; row < 4; row++) {
        CHECK(is_image(f.set, row, row));
        CHECK(f.set->kind->row_class(f.set, row) == row / 2);
    }
    data_close(&f);
}

TEST(images__pictures_without_folders_have_no_labels) {
    for (int i = 0; i < 4; i++)
        put_picture("flat", (char[]){(char)('a' + i), '.', 'p', 'n', 'g', 0}, 4, 4, 1, i);
    data_fixture f = images_open("flat", "task = superres\nvalidation = 0.25");
    CHECK(f.set->rows == 3 && f.set->validation_rows == 1 && f.set->classes == 0);
    data_close(&f);
    images_refuse("flat", "", JF_ERROR_RECIPE, "data.task", "class learns from labels");
    images_refuse("flat", "classes = a", JF_ERROR_RECIPE, "data.classes", "have no labels");
}

TEST(images__pictures_of_different_sizes_are_refused_by_both_names) {
    mkdir(test_path("zoo"), 0777);
    put_picture("zoo/ape", "a.png", 4, 2, 1, 0);
    put_picture("zoo/gnu", "b.png", 4, 3, 1, 1);
    images_refuse("zoo", "", JF_ERROR_SHAPE, "zoo/gnu/b.png: 4x3", "expected 4x2 with 1 as in");
    images_refuse("zoo", "", JF_ERROR_SHAPE, "b.png", "zoo/ape/a.png");
    put_picture("zoo/gnu", "b.png", 4, 2, 3, 1);
    images_refuse("zoo", "", JF_ERROR_SHAPE, "b.png: 4x2 with 3 channels", "as in");
}

TEST(images__folders_that_are_no_sets_are_refused) {
    mkdir(test_path("zoo"), 0777);
    images_refuse("zoo", "", JF_ERROR_DATA, "zoo: neither folders nor pictures",
                  "expected a folder of pictures (.png, .jpg or .jpeg) for each class");
    mkdir(test_path("zoo/ape"), 0777);
    images_refuse("zoo", "", JF_ERROR_DATA, "zoo/ape: no picture", "at least one");
    put_quickly(path_in("zoo/ape", "a.png"), "GIF89a, not what it is called", 29);
    images_refuse("zoo", "", JF_ERROR_FORMAT, "zoo/ape/a.png: neither a PNG nor a JPEG file", "");
    put_picture("zoo", "b.png", 4, 4, 1, 0);
    images_refuse("zoo", "", JF_ERROR_DATA, "zoo/b.png: found beside folders", "zoo/ape");
    images_refuse("nowhere", "", JF_ERROR_IO, "nowhere: not found", "");
    put_quickly(test_path("a.gif"), "GIF89a", 6);
    images_refuse("a.gif", "", JF_ERROR_RECIPE, "data.images: found", "glyphs, a folder of IDX files");
}

/* ---- stacks ---- */

static const char *put_stack(const char *name, const char *descr, const char *shape, const void *data,
                             size_t size) {
    char file[4096], header[128];
    int length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                          descr, shape);
    memcpy(file, "\x93NUMPY\x01\0\x76\0", 10);
    memset(file + 10, ' ', 118);
    memcpy(file + 10, header, (size_t)length);
    file[127] = '\n';
    if (size) memcpy(file + 128, data, size);
    return put_file(name, file, 128 + size);
}

/* labels.npy in the folder of the test, and the line of the recipe that names it */
static const char *labels_line(const char *descr, const char *shape, const void *data, size_t size) {
    static char line[300];
    snprintf(line, sizeof line, "validation = 0\nlabels = %s",
             put_stack("labels.npy", descr, shape, data, size));
    return line;
}

TEST(images__a_stack_of_bytes_is_scaled_and_one_of_reals_is_not) {
    uint8_t bytes[24];
    float reals[24];
    double doubles[24], xy[48];
    for (int i = 0; i < 24; i++) {
        bytes[i] = image_byte(i / 8, i % 8);
        reals[i] = (float)(i - 7.5);
        doubles[i] = i - 7.5;
    }
    put_stack("a.npy", "|u1", "(3, 2, 4)", bytes, sizeof bytes);
    put_stack("b.npy", "<f4", "(3, 2, 4)", reals, sizeof reals);
    put_stack("c.npy", "<f8", "(3, 2, 2, 2)", doubles, sizeof doubles);
    data_fixture a = images_open("a.npy", "task = superres\nvalidation = 0");
    data_fixture b = images_open("b.npy", "task = superres\nvalidation = 0");
    data_fixture c = images_open("c.npy", "task = superres\nvalidation = 0");
    CHECK(a.set->rows == 3 && a.set->image.h == 2 && a.set->image.w == 4 && a.set->image.x_channels == 1);
    CHECK(c.set->image.h == 2 && c.set->image.w == 2 && c.set->image.x_channels == 2 && c.set->bytes == 96);
    for (int row = 0; row < 3; row++) {
        data_row(a.set, row, xy);
        for (int i = 0; i < 8; i++) CHECK_NEAR(xy[i] + xy[8 + i], bytes[8 * row + i] / 255.0, 1e-15);
        data_row(b.set, row, xy);
        for (int i = 0; i < 8; i++) CHECK_NEAR(xy[i] + xy[8 + i], doubles[8 * row + i], 1e-15);
        data_row(c.set, row, xy);
        for (int i = 0; i < 8; i++) CHECK_NEAR(xy[i] + xy[8 + i], doubles[8 * row + i], 1e-15);
    }
    data_close(&a);
    data_close(&b);
    data_close(&c);
}

TEST(images__labels_of_a_stack_become_classes) {
    uint8_t bytes[16];
    for (int i = 0; i < 16; i++) bytes[i] = image_byte(i / 4, i % 4);
    put_stack("a.npy", "|u1", "(4, 2, 2)", bytes, 16);
    const int64_t labels[] = {5, 3, 3, 5}, wrong[] = {5, 3, 64, 5}, negative[] = {5, 3, -1, 5};
    const float half[] = {1, 2, 0.5f, 3};
    data_fixture f = images_open("a.npy", labels_line("<i8", "(4,)", labels, sizeof labels));
    CHECK(f.set->classes == 2); /* those that occur */
    CHECK_TEXT(f.set->class_name[0], "3");
    CHECK_TEXT(f.set->class_name[1], "5");
    CHECK(f.set->kind->row_class(f.set, 0) == 1 && f.set->kind->row_class(f.set, 1) == 0);
    data_close(&f);
    images_refuse("a.npy", labels_line("<i8", "(4,)", wrong, sizeof wrong), JF_ERROR_DATA, "label 3 is 64",
                  "0 to 63");
    images_refuse("a.npy", labels_line("<i8", "(4,)", negative, sizeof wrong), JF_ERROR_DATA, "label 3 is -1",
                  "");
    images_refuse("a.npy", labels_line("<f4", "(4,)", half, sizeof half), JF_ERROR_DATA, "label 3 is 0.5",
                  "whole");
    images_refuse("a.npy", labels_line("<i8", "(3,)", labels, 24), JF_ERROR_SHAPE, "labels.npy",
                  "expected 1 with 4");
    images_refuse("a.npy", labels_line("<i8", "(2, 2)", labels, 32), JF_ERROR_SHAPE, "2 dimensions",
                  "with 4");
    images_refuse("a.npy", "labels = nowhere.npy", JF_ERROR_IO, "nowhere.npy: not found", "");
    put_set("set");
    images_refuse("set", "labels = a.npy", JF_ERROR_RECIPE, "data.labels", "for images in a .npy file");
}

TEST(images__stacks_that_are_no_images_are_refused) {
    float reals[8] = {0, 1, 2, 3, 4, NAN, 6, 7};
    double large[8] = {0, 1, 2, 3, 4, 5, 6, 1e300};
    images_refuse(put_stack("a.npy", "<f4", "(2, 2, 2)", reals, 32), "", JF_ERROR_DATA,
                  "value 2 of image 2 is nan", "a.npy");
    images_refuse(put_stack("a.npy", "<f8", "(2, 2, 2)", large, 64), "", JF_ERROR_DATA,
                  "value 4 of image 2 is inf", "");
    images_refuse(put_stack("a.npy", "<f4", "(4, 2)", reals, 32), "", JF_ERROR_SHAPE, "2 dimensions",
                  "expected 3");
    images_refuse(put_stack("a.npy", "<i4", "(2, 2, 2)", reals, 32), "", JF_ERROR_FORMAT, "type <i4", "|u1");
    images_refuse(put_stack("a.npy", "|u1", "(0, 2, 2)", reals, 0), "", JF_ERROR_DATA, "no images", "");
    images_refuse(put_stack("a.npy", "|u1", "(2, 0, 2)", reals, 0), "", JF_ERROR_SHAPE, "0x2",
                  "sides of 1 to 1024");
    images_refuse(put_stack("a.npy", "|u1", "(1, 1, 2000)", large, 0), "", JF_ERROR_FORMAT, "a.npy",
                  "expected 2000");
    uint8_t wide[2000] = {0};
    images_refuse(put_stack("a.npy", "|u1", "(1, 1, 2000)", wide, 2000), "", JF_ERROR_SHAPE, "1x2000",
                  "1024");
    images_refuse(put_stack("a.npy", "|u1", "(9223372036854775808, 2, 2)", wide, 100), "", JF_ERROR_FORMAT,
                  "a.npy", "more values than 64 bits");
    images_refuse(put_stack("a.npy", "|u1", "(4294967296, 28, 28)", wide, 100), "", JF_ERROR_FORMAT, "a.npy",
                  "100 bytes of values");
}

TEST(images__damaged_stacks_are_read_or_refused_with_a_message) {
    jf_context *ctx = new_context();
    double values[64];
    for (int i = 0; i < 64; i++) values[i] = i;
    const char *good = put_stack("good.npy", "<f8", "(4, 4, 4)", values, sizeof values),
               *bad = test_path("bad.npy");
    int refused = 0;
    for (int i = 0; i < 1500; i++) {
        char *bytes;
        size_t size;
        CHECK_STATUS(file_read(ctx, &bytes, &size, good, 4096), JF_OK);
        rng random = rng_stream((rng_key){7, RNG_TEST, 0}, (uint64_t)i);
        put_quickly(bad, bytes, damage(&random, bytes, size));
        free(bytes);
        npy_stack stack;
        jf_status status = npy_read_stack(ctx, &stack, bad);
        CHECK((status == JF_OK) == (stack.bytes || stack.reals));
        if (status != JF_OK) {
            CHECK_HAS(jf_context_error(ctx), bad);
            refused++;
        }
        npy_stack_free(&stack);
    }
    CHECK(refused > 500);
    jf_context_free(ctx);
}

/* ---- units ---- */

TEST(images__class_data_have_one_mean_and_deviation_over_all_pixels) {
    put_set("set");
    data_fixture f = images_open("set", "");
    double sum = 0, square = 0;
    for (int row = 0; row < 30; row++)
        for (int i = 0; i < 6; i++) sum += image_byte(row, i) / 255.0 / 180;
    for (int row = 0; row < 30; row++)
        for (int i = 0; i < 6; i++) square += pow(image_byte(row, i) / 255.0 - sum, 2) / 180;
    for (int i = 0; i < 6; i++) {
        CHECK_NEAR(f.set->mean[i], sum, 1e-14);
        CHECK_NEAR(f.set->deviation[i], sqrt(square), 1e-14);
        CHECK_NEAR(f.set->mean[6 + i], 1, 1e-15);
        CHECK_NEAR(f.set->deviation[6 + i], sqrt(2 / 3.0), 1e-15);
    }
    data_close(&f);
}

TEST(images__other_tasks_leave_the_units_alone) {
    put_idx_part("set", "train", 0, 30, 4, 4, 3);
    data_fixture f = images_open("set", "task = noise");
    CHECK(f.set->classes == 0);
    for (int i = 0; i < 32; i++) CHECK(f.set->mean[i] == 0 && f.set->deviation[i] == 1);
    data_close(&f);
}

TEST(images__what_cannot_be_standardised_is_refused) {
    uint8_t flat[16];
    memset(flat, 51, sizeof flat);
    const uint8_t labels[4] = {0, 1, 0, 1};
    const float reals[4] = {0, 0.5f, 1, 1.5f};
    put_stack("flat.npy", "|u1", "(4, 2, 2)", flat, 16);
    put_stack("reals.npy", "<f4", "(4, 1, 1)", reals, 16);
    char keys[400];
    snprintf(keys, sizeof keys, "%s", labels_line("|u1", "(4,)", labels, 4));
    images_refuse("flat.npy", keys, JF_ERROR_RECIPE, "data.images: all values", "are 0.2");
    strcat(keys, "\nlogit = yes");
    images_refuse("reals.npy", keys, JF_ERROR_RECIPE, "image 4 to train on",
                  "expected intensities from 0 to 1");
}

TEST(images__one_class_alone_keeps_its_label) {
    put_set("set");
    data_fixture f = images_open("set", "classes = 1");
    CHECK(f.set->classes == 1 && f.set->mean[6] == 0 && f.set->deviation[6] == 1);
    data_close(&f);
}

TEST(images__keys_of_another_task_are_refused) {
    put_set("set");
    images_refuse("set", "task = blur\ndown = 1", JF_ERROR_RECIPE, "data.down",
                  "applies only where data.task = ");
    images_refuse("set", "task = sharpen", JF_ERROR_RECIPE, "data.task: found \"sharpen\"",
                  "superres, blur, motion, noise");
    images_refuse("set", "task = colour", JF_ERROR_RECIPE, "data.task: colour needs",
                  "found 1 channel, expected 3");
    images_refuse("set", "task = superres", JF_ERROR_RECIPE, "data.task", "2x3, expected even sides");
}

/* ---- drawing ---- */

TEST(images__rows_are_drawn_once_an_epoch_and_random_parts_follow_the_key) {
    put_idx_part("set", "train", 0, 30, 4, 4, 3);
    data_fixture f = images_open("set", "task = noise\ndeviation = 0.1\nvalidation = 0.1");
    double a[27 * 32], b[27 * 32], c[27 * 32];
    dataset_draw(f.set, data_key(0), 0, 27, -1, a);
    dataset_draw(f.set, data_key(0), 0, 20, -1, b);
    dataset_draw(f.set, data_key(0), 20, 7, -1, b + 20 * 32);
    CHECK(memcmp(a, b, sizeof a) == 0); /* however it is cut into calls */
    dataset_draw(f.set, data_key(1), 0, 27, -1, c);
    for (int row = 0; row < 27; row++) CHECK(a[32 * row] != c[32 * row]); /* fresh noise every epoch */
    dataset_validation(f.set, 0, 3, a);
    dataset_validation(f.set, 3, 3, b); /* starts again */
    CHECK(memcmp(a, b, 3 * 32 * sizeof *a) == 0);
    data_close(&f);
}

/* ---- the real thing ---- */

TEST(images__fashion_mnist_has_its_published_mean_and_classes) {
    data_fixture f = images_known("fashion-mnist", "");
    CHECK(f.set->rows == 60000 && f.set->validation_rows == 10000 && f.set->classes == 10 &&
          f.set->image.h == 28);
    CHECK_NEAR(f.set->mean[0], 0.2860, 5e-5);
    CHECK_NEAR(f.set->deviation[0], 0.3530, 5e-5);
    for (int k = 0; k < 10; k++) CHECK(f.set->class_start[k + 1] - f.set->class_start[k] == 6000);
    CHECK_TEXT(f.set->class_name[f.set->kind->row_class(f.set, 0)], "boot");
    data_close(&f);
}

TEST(images__a_known_set_that_is_not_here_says_how_to_get_it) {
    data_fixture f;
    setenv("JOINTFLOW_DATA", test_folder(), 1);
    setenv("XDG_DATA_HOME", test_folder(), 1);
    CHECK(chdir(test_folder()) == 0);
    CHECK_STATUS(data_try_open(&f, "set = images\nimages = mnist"), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(f.ctx), "mnist: not found");
    CHECK_HAS(jf_context_error(f.ctx), "jointflow data fetch mnist");
    data_close(&f);
}
