/* The images that the program draws itself: the same every time, and different where they should be. */
#include "images_fixture.h"

#include "data/images/image_set.h"

enum { DIM = 28 * 28 };

/* The images themselves, without a data set around them. */
typedef struct glyph_fixture {
    jf_context *ctx;
    recipe *recipe;
    image_set set;
} glyph_fixture;

static jf_status glyphs_try_load(glyph_fixture *f, const char *more) {
    char content[512];
    snprintf(content, sizeof content, "[data]\nset = images\nimages = glyphs\n%s\n", more);
    *f = (glyph_fixture){.ctx = new_context()};
    CHECK_STATUS(recipe_parse(f->ctx, &f->recipe, content, "glyphs.recipe"), JF_OK);
    CHECK_STATUS(dataset_declare(f->recipe, NULL), JF_OK);
    CHECK_STATUS(recipe_check(f->recipe), JF_OK);
    return image_set_load(f->ctx, &f->set, f->recipe);
}

static glyph_fixture glyphs_load(const char *more) {
    glyph_fixture f;
    if (glyphs_try_load(&f, more) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(f.ctx));
    return f;
}

static void glyphs_free(glyph_fixture *f) {
    image_set_free(&f->set);
    recipe_free(f->recipe);
    jf_context_free(f->ctx);
}

TEST(glyphs__are_28x28_in_grey_in_ten_classes_alike) {
    glyph_fixture f = glyphs_load("limit = 1000");
    const image_set *s = &f.set;
    CHECK(s->h == 28 && s->w == 28 && s->channels == 1 && s->rows == 1000 && s->validation_rows == 2000 &&
          s->classes == 10);
    long count[10] = {0};
    for (long row = 0; row < 1000; row++) count[s->labels[row]]++;
    for (int k = 0; k < 10; k++) CHECK(count[k] == 100);
    glyphs_free(&f);
}

TEST(glyphs__are_the_same_every_time_however_many_there_are) {
    glyph_fixture f = glyphs_load("limit = 300"), g = glyphs_load("limit = 500");
    CHECK(memcmp(f.set.bytes, g.set.bytes, 300 * DIM) == 0);
    CHECK(memcmp(f.set.labels, g.set.labels, 300) == 0);
    CHECK(memcmp(f.set.bytes + 300 * DIM, g.set.bytes + 500 * DIM, 2000 * DIM) == 0); /* those held out */
    glyphs_free(&f);
    glyphs_free(&g);
}

TEST(glyphs__chosen_classes_fill_the_limit) {
    glyph_fixture f = glyphs_load("classes = spiral, disc\nlimit = 301");
    CHECK(f.set.rows == 301 && f.set.validation_rows == 2000 && f.set.classes == 2);
    CHECK_TEXT(f.set.class_name[0], "spiral");
    CHECK(f.set.labels[0] == 0 && f.set.labels[1] == 1 && f.set.labels[300] == 0);
    glyphs_free(&f);
    CHECK_STATUS(glyphs_try_load(&f, "classes = blob"), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(f.ctx), "ring, disc, triangle");
    glyphs_free(&f);
    CHECK_STATUS(glyphs_try_load(&f, "limit = 2000000"), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(f.ctx), "data.limit");
    glyphs_free(&f);
}

static long distance_between(const uint8_t *a, const uint8_t *b) {
    long sum = 0;
    for (int i = 0; i < DIM; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

TEST(glyphs__no_two_are_alike_in_either_part) {
    glyph_fixture f = glyphs_load("limit = 1000");
    for (long a = 0; a < 3000; a += 7)
        for (long b = 0; b < a; b++) CHECK(memcmp(f.set.bytes + a * DIM, f.set.bytes + b * DIM, DIM) != 0);
    glyphs_free(&f);
}

TEST(glyphs__all_show_something_and_reach_no_border_much) {
    glyph_fixture f = glyphs_load("limit = 2000");
    long border = 0, ink = 0;
    for (long row = 0; row < 2000; row++) {
        const uint8_t *image = f.set.bytes + row * DIM;
        long sum = 0;
        int brightest = 0;
        for (int i = 0; i < DIM; i++) {
            sum += image[i];
            brightest = image[i] > brightest ? image[i] : brightest;
            if (i % 28 == 0 || i % 28 == 27 || i < 28 || i >= DIM - 28) border += image[i];
        }
        CHECK(brightest >= 55 && sum > 1200);
        ink += sum;
    }
    CHECK(border < ink / 50);
    glyphs_free(&f);
}

/* A class must tell more about an image than chance, or conditioning on it could not be seen: the nearest of
 * 6,000 others (after smoothing, which forgives small shifts) is of the same class far more often than 1
 * in 10. */
TEST(glyphs__classes_differ) {
    enum { OTHERS = 6000, ASKED = 200, SMALL = 14 };
    glyph_fixture f = glyphs_load("limit = 6000");
    static int small[OTHERS + ASKED][SMALL * SMALL];
    for (int row = 0; row < OTHERS + ASKED; row++) {
        const uint8_t *image = f.set.bytes + (size_t)row * DIM;
        for (int i = 0; i < SMALL * SMALL; i++) {
            const uint8_t *at = image + i / SMALL * 56 + i % SMALL * 2;
            small[row][i] = at[0] + at[1] + at[28] + at[29];
        }
    }
    int right = 0;
    for (int a = OTHERS; a < OTHERS + ASKED; a++) {
        long best = 1L << 60;
        int label = -1;
        for (int b = 0; b < OTHERS; b++) {
            long d = 0;
            for (int i = 0; i < SMALL * SMALL; i++)
                d += (long)(small[a][i] - small[b][i]) * (small[a][i] - small[b][i]);
            if (d < best) best = d, label = f.set.labels[b];
        }
        right += label == f.set.labels[a];
    }
    CHECK(right > ASKED / 2);
    CHECK(distance_between(f.set.bytes, f.set.bytes + 10 * DIM) > 10000); /* and one class is not one image */
    glyphs_free(&f);
}
