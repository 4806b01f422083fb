/* What the tests of images share: files of images with known values. */
#ifndef JF_TESTS_IMAGES_FIXTURE_H
#define JF_TESTS_IMAGES_FIXTURE_H

#include "data_fixture.h"
#include "format_fixture.h"

#include <sys/stat.h>

/* The value of a byte of image `row` in the sets made here. */
static inline uint8_t image_byte(long row, int i) {
    return (uint8_t)(row * 7 + i * 3 + 1);
}

/* NAME in the folder of the test, which may be below a folder that is made for it. */
static inline const char *path_in(const char *folder, const char *name) {
    char path[256];
    mkdir(test_path(folder), 0777);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return test_path(path);
}

static inline void put_bytes(const char *path, const char *head, size_t head_size, const uint8_t *bytes,
                             size_t size) {
    FILE *out = fopen(path, "wb");
    CHECK(out && fwrite(head, 1, head_size, out) == head_size && fwrite(bytes, 1, size, out) == size);
    CHECK(fclose(out) == 0);
}

/* Images and labels `first` to `first + count - 1` of PART ("train", "t10k"); the label of row i is i %
 * classes. */
static inline void put_idx_part(const char *folder, const char *part, int first, int count, int h, int w,
                                int classes) {
    uint8_t bytes[65536], labels[1024];
    char name[64],
        head[16] = {0, 0, 8, 3, 0, 0, (char)(count >> 8), (char)count, 0, 0, 0, (char)h, 0, 0, 0, (char)w};
    CHECK((size_t)(count * h * w) <= sizeof bytes && (size_t)count <= sizeof labels);
    for (int i = 0; i < count * h * w; i++) bytes[i] = image_byte(first + i / (h * w), i % (h * w));
    for (int i = 0; i < count; i++) labels[i] = (uint8_t)((first + i) % classes);
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", part);
    put_bytes(path_in(folder, name), head, 16, bytes, (size_t)(count * h * w));
    head[3] = 1;
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", part);
    put_bytes(path_in(folder, name), head, 8, labels, (size_t)count);
}

/* Opens [data] set = images, images = FOLDER of this test, and more lines. */
static inline jf_status images_try_open(data_fixture *f, const char *name, const char *more) {
    char keys[900];
    snprintf(keys, sizeof keys, "set = images\nimages = %s\n%s", strchr(name, '/') ? name : test_path(name),
             more);
    return data_try_open(f, keys);
}

static inline data_fixture images_open(const char *name, const char *more) {
    data_fixture f;
    if (images_try_open(&f, name, more) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(f.ctx));
    return f;
}

static inline void images_refuse(const char *name, const char *more, jf_status status, const char *part,
                                 const char *other) {
    data_fixture f;
    jf_status found = images_try_open(&f, name, more);
    if (found != status)
        test_fail(__FILE__, __LINE__, "status %d, expected %d: %s", found, status, jf_context_error(f.ctx));
    CHECK(!f.set);
    CHECK_HAS(jf_context_error(f.ctx), part);
    CHECK_HAS(jf_context_error(f.ctx), other);
    data_close(&f);
}

/* A set whose name is known to the program (glyphs, fashion-mnist); skips where its files are not here. */
static inline data_fixture images_known(const char *name, const char *more) {
    char keys[512];
    data_fixture f;
    snprintf(keys, sizeof keys, "set = images\nimages = %s\n%s", name, more);
    jf_status status = data_try_open(&f, keys);
    if (status == JF_ERROR_IO) SKIP("the files of the set are not here (JOINTFLOW_DATA)");
    if (status != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(f.ctx));
    return f;
}

#endif
