/* A folder of IDX files, as MNIST and its relatives come: train-images-idx3-ubyte, train-labels-idx1-ubyte,
 * and the same of t10k, which are held out. Each may be compressed (.gz). */
#include "base/file.h"
#include "base/memory.h"
#include "data/images/image_set.h"
#include "io/idx.h"
#include <stdlib.h>
#include <string.h>

/* Sets whose classes have names, by the name of their folder; others are called by their numbers. */
typedef struct named_set {
    const char *folder;
    int classes;
    const char *names[10]; /* NULL: their numbers */
} named_set;

static const named_set named_sets[] = {
    {"fashion-mnist",
     10,
     {"tshirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"}},
    {"mnist", 10, {NULL}},
};
enum { NAMED_SETS = sizeof named_sets / sizeof *named_sets };

/* Images and labels of one part. */
typedef struct part {
    char *image_path, *label_path;
    idx_array images, labels;
} part;

static void part_free(part *p) {
    idx_free(&p->images);
    idx_free(&p->labels);
    free(p->image_path);
    free(p->label_path);
}

/* ---- finding ---- */

/* *out = folder/name or else folder/name.gz, NULL where neither is there. */
static jf_status find_file(jf_context *ctx, char **out, const char *folder, const char *name) {
    static const char *const endings[] = {"", ".gz"};
    *out = NULL;
    for (int i = 0; i < 2; i++) {
        text path = {0};
        text_add(&path, "%s/%s%s", folder, name, endings[i]);
        JF_TRY(text_check(ctx, &path));
        if (file_exists(path.chars)) {
            *out = path.chars;
            return JF_OK;
        }
        text_free(&path);
    }
    return JF_OK;
}

static int has_file(const char *folder, const char *name) {
    text path = {0};
    text_add(&path, "%s/%s", folder, name);
    int there = !path.failed && file_exists(path.chars);
    text_free(&path);
    return there;
}

static int idx_recognises(const char *name, const char *found) {
    (void)name;
    return found &&
           (has_file(found, "train-images-idx3-ubyte") || has_file(found, "train-images-idx3-ubyte.gz"));
}

/* ---- reading ---- */

/* Both files of a part; one without images stays empty. */
static jf_status read_part(jf_context *ctx, part *p, const char *folder, const char *image_name,
                           const char *label_name) {
    JF_TRY(find_file(ctx, &p->image_path, folder, image_name));
    if (!p->image_path) return JF_OK;
    JF_TRY(find_file(ctx, &p->label_path, folder, label_name));
    if (!p->label_path)
        return jf_fail(ctx, JF_ERROR_IO,
                       "%s: there is no %s or %s.gz beside it, expected the labels of its images",
                       p->image_path, label_name, label_name);
    JF_TRY(idx_read(ctx, &p->images, p->image_path, 3));
    JF_TRY(idx_read(ctx, &p->labels, p->label_path, 1));
    if (p->labels.shape[0] != p->images.shape[0])
        return jf_fail(ctx, JF_ERROR_SHAPE, "%s: %zu labels, expected %zu as there are images in %s",
                       p->label_path, p->labels.shape[0], p->images.shape[0], p->image_path);
    return image_check_size(ctx, p->image_path, p->images.shape[1], p->images.shape[2], 1);
}

static jf_status check_labels(jf_context *ctx, const part *p, int classes) {
    for (size_t i = 0; p->image_path && i < p->labels.shape[0]; i++)
        if (p->labels.bytes[i] >= classes)
            return jf_fail(ctx, JF_ERROR_DATA, "%s: label %zu is %d, expected 0 to %d", p->label_path, i + 1,
                           p->labels.bytes[i], classes - 1);
    return JF_OK;
}

/* ---- putting together ---- */

static jf_status join(jf_context *ctx, uint8_t **out, const uint8_t *first, size_t first_size,
                      const uint8_t *second, size_t second_size) {
    JF_TRY(MEM_NEW(ctx, out, first_size + second_size));
    memcpy(*out, first, first_size);
    if (second_size > 0) memcpy(*out + first_size, second, second_size);
    return JF_OK;
}

static jf_status join_parts(jf_context *ctx, image_set *out, const part *train, const part *test) {
    const size_t *shape = train->images.shape;
    if (test->image_path && (shape[1] != test->images.shape[1] || shape[2] != test->images.shape[2]))
        return jf_fail(ctx, JF_ERROR_SHAPE, "%s: images of %zux%zu, expected %zux%zu as in %s",
                       test->image_path, test->images.shape[1], test->images.shape[2], shape[1], shape[2],
                       train->image_path);
    out->h = (int)shape[1];
    out->w = (int)shape[2];
    out->channels = 1;
    out->rows = (long)shape[0];
    out->validation_rows = test->image_path ? (long)test->images.shape[0] : 0;
    size_t dim = image_set_dim(out), rows = (size_t)out->rows, validation_rows = (size_t)out->validation_rows;
    JF_TRY(
        join(ctx, &out->bytes, train->images.bytes, rows * dim, test->images.bytes, validation_rows * dim));
    return join(ctx, &out->labels, train->labels.bytes, rows, test->labels.bytes, validation_rows);
}

/* The set of that name, compared with the last part of the path; NULL: none. */
static const named_set *find_named(const char *folder) {
    size_t end = strlen(folder);
    while (end > 0 && folder[end - 1] == '/') end--;
    size_t start = end;
    while (start > 0 && folder[start - 1] != '/') start--;
    for (int i = 0; i < NAMED_SETS; i++)
        if (strlen(named_sets[i].folder) == end - start &&
            memcmp(named_sets[i].folder, folder + start, end - start) == 0)
            return &named_sets[i];
    return NULL;
}

static void name_classes(image_set *out, const named_set *named) {
    int count = named ? named->classes : 0;
    for (long row = 0; !named && row < out->rows + out->validation_rows; row++)
        if (out->labels[row] >= count) count = out->labels[row] + 1;
    image_number_classes(out, count);
    for (int k = 0; named && named->names[0] && k < count; k++)
        memcpy(out->class_name[k], named->names[k], strlen(named->names[k]) + 1);
}

static jf_status idx_load(jf_context *ctx, image_set *out, const recipe *r, const char *found) {
    (void)r;
    const named_set *named = find_named(found);
    int classes = named ? named->classes : MAX_CLASSES;
    part train = {.image_path = NULL}, test = {.image_path = NULL};
    jf_status status;
    JF_TRY_DONE(read_part(ctx, &train, found, "train-images-idx3-ubyte", "train-labels-idx1-ubyte"));
    JF_TRY_DONE(read_part(ctx, &test, found, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"));
    JF_TRY_DONE(check_labels(ctx, &train, classes));
    JF_TRY_DONE(check_labels(ctx, &test, classes));
    JF_TRY_DONE(join_parts(ctx, out, &train, &test));
    name_classes(out, named);
done:
    part_free(&train);
    part_free(&test);
    return status;
}

const image_source image_idx = {
    .name = "idx",
    .summary = "a folder of IDX files (fashion-mnist, mnist)",
    .recognises = idx_recognises,
    .load = idx_load,
};
