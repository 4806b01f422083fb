/* A folder of pictures, PNG and JPEG: one folder per class inside it, whose name is that of the class; or the
 * files themselves, which then have no labels. Classes and files come in the order of their names. */
#include "base/file.h"
#include "base/memory.h"
#include "base/shown.h"
#include "data/images/image_set.h"
#include "io/picture.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Names of one kind in a folder, ascending. */
typedef struct names {
    char **items; /* (count) */
    size_t count, capacity;
} names;

/* The pictures of a set: paths, and the class of each. */
typedef struct listing {
    names paths;
    uint8_t *labels; /* (paths.count) */
} listing;

static void names_free(names *n) {
    for (size_t i = 0; i < n->count; i++) free(n->items[i]);
    free(n->items);
}

/* `name` becomes the list's own, also where it fails. */
static jf_status names_add(jf_context *ctx, names *n, char *name) {
    if (n->count == n->capacity) {
        size_t capacity = n->capacity ? 2 * n->capacity : 64;
        char **items = realloc(n->items, capacity * sizeof *items);
        if (!items) {
            free(name);
            return jf_fail(ctx, JF_ERROR_MEMORY, "not enough memory for the names of %zu files", capacity);
        }
        n->items = items;
        n->capacity = capacity;
    }
    n->items[n->count++] = name;
    return JF_OK;
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- looking into folders ---- */

/* Paths of the folders and of the pictures in a folder; hidden ones are passed over. */
static jf_status list_entries(jf_context *ctx, DIR *dir, const char *folder, names *folders, names *files) {
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        char *path;
        JF_TRY(file_join(ctx, &path, folder, entry->d_name));
        names *list = file_is_folder(path) ? folders : picture_named(path) ? files : NULL;
        if (list)
            JF_TRY(names_add(ctx, list, path));
        else
            free(path);
    }
    return JF_OK;
}

static jf_status list_folder(jf_context *ctx, const char *folder, names *folders, names *files) {
    DIR *dir = opendir(folder);
    if (!dir) return jf_fail(ctx, JF_ERROR_IO, "%s: could not be opened: %s", folder, strerror(errno));
    jf_status status = list_entries(ctx, dir, folder, folders, files);
    closedir(dir);
    if (folders->count) qsort(folders->items, folders->count, sizeof *folders->items, by_bytes);
    if (files->count) qsort(files->items, files->count, sizeof *files->items, by_bytes);
    return status;
}

/* ---- classes ---- */

static jf_status name_class(jf_context *ctx, image_set *out, const char *folder) {
    const char *name = strrchr(folder, '/') + 1; /* file_join() has put one there */
    if (strlen(name) >= MAX_CLASS_NAME)
        return jf_fail(ctx, JF_ERROR_DATA, "%s: the name of a class has %zu characters, expected at most %d",
                       folder, strlen(name), MAX_CLASS_NAME - 1);
    if (strchr(name, ','))
        return jf_fail(ctx, JF_ERROR_DATA, "%s: the name of a class has a comma, expected one without",
                       folder);
    size_t good = shown_prefix(name, strlen(name), "");
    if (name[good])
        return jf_fail(
            ctx, JF_ERROR_DATA,
            "%s: byte %zu of the name of a class has code %d, expected text in UTF-8 without control "
            "characters: rename the folder",
            folder, good + 1, (unsigned char)name[good]);
    memcpy(out->class_name[out->classes++], name, strlen(name) + 1);
    return JF_OK;
}

/* Moves the files of the next class to the end of the listing. */
static jf_status add_files(jf_context *ctx, listing *l, names *files, int label) {
    uint8_t *labels = realloc(l->labels, l->paths.count + files->count);
    if (!labels)
        return jf_fail(ctx, JF_ERROR_MEMORY, "not enough memory for the labels of %zu files", files->count);
    l->labels = labels;
    memset(labels + l->paths.count, label, files->count);
    for (size_t i = 0; i < files->count; i++) {
        char *path = files->items[i];
        files->items[i] = NULL;
        JF_TRY(names_add(ctx, &l->paths, path));
    }
    return JF_OK;
}

static jf_status list_class(jf_context *ctx, image_set *out, listing *l, const char *folder) {
    names folders = {0}, files = {0};
    jf_status status;
    JF_TRY_DONE(list_folder(ctx, folder, &folders, &files));
    if (files.count == 0) {
        status = jf_fail(
            ctx, JF_ERROR_DATA,
            "%s: no picture in the folder of a class, expected at least one that ends in " PICTURE_ENDINGS,
            folder);
        goto done;
    }
    JF_TRY_DONE(name_class(ctx, out, folder));
    JF_TRY_DONE(add_files(ctx, l, &files, out->classes - 1));
done:
    names_free(&folders);
    names_free(&files);
    return status;
}

static jf_status list_classes(jf_context *ctx, image_set *out, listing *l, const names *folders) {
    if (folders->count > MAX_CLASSES)
        return jf_fail(ctx, JF_ERROR_DATA, "%s and %zu folders beside it: expected at most %d, one per class",
                       folders->items[0], folders->count - 1, MAX_CLASSES);
    for (size_t i = 0; i < folders->count; i++) JF_TRY(list_class(ctx, out, l, folders->items[i]));
    return JF_OK;
}

static jf_status list_pictures(jf_context *ctx, image_set *out, listing *l, const char *root) {
    names folders = {0}, files = {0};
    jf_status status;
    JF_TRY_DONE(list_folder(ctx, root, &folders, &files));
    if (folders.count == 0 && files.count == 0)
        status =
            jf_fail(ctx, JF_ERROR_DATA,
                    "%s: neither folders nor pictures in it: expected a folder of pictures (" PICTURE_ENDINGS
                    ") for each class, pictures, or IDX files (train-images-idx3-ubyte)",
                    root);
    else if (folders.count > 0 && files.count > 0)
        status = jf_fail(ctx, JF_ERROR_DATA, "%s: found beside folders, such as %s; expected one of both",
                         files.items[0], folders.items[0]);
    else if (folders.count > 0)
        status = list_classes(ctx, out, l, &folders);
    else {
        l->paths = files;
        files = (names){0};
    }
done:
    names_free(&folders);
    names_free(&files);
    return status;
}

/* ---- reading ---- */

/* The first picture decides about the size of all. */
static jf_status add_picture(jf_context *ctx, image_set *out, const listing *l, size_t row, const pixels *p) {
    const char *path = l->paths.items[row];
    if (row == 0) {
        JF_TRY(image_check_size(ctx, path, (size_t)p->h, (size_t)p->w, (size_t)p->channels));
        out->h = p->h;
        out->w = p->w;
        out->channels = p->channels;
        JF_TRY(mem_alloc(ctx, &out->bytes, l->paths.count, image_set_dim(out)));
    }
    if (p->h != out->h || p->w != out->w || p->channels != out->channels)
        return jf_fail(ctx, JF_ERROR_SHAPE,
                       "%s: %dx%d with %d channels (height x width), expected %dx%d with %d as in %s", path,
                       p->h, p->w, p->channels, out->h, out->w, out->channels, l->paths.items[0]);
    memcpy(out->bytes + row * image_set_dim(out), p->bytes, image_set_dim(out));
    return JF_OK;
}

static jf_status read_pictures(jf_context *ctx, image_set *out, const listing *l) {
    for (size_t row = 0; row < l->paths.count; row++) {
        pixels p;
        JF_TRY(picture_read(ctx, &p, l->paths.items[row], IMAGE_MAX_SIDE));
        jf_status status = add_picture(ctx, out, l, row, &p);
        pixels_free(&p);
        if (status != JF_OK) return status;
    }
    out->rows = (long)l->paths.count;
    return JF_OK;
}

/* ---- the source ---- */

static int folder_recognises(const char *name, const char *found) {
    (void)name;
    return found && file_is_folder(found);
}

static jf_status folder_load(jf_context *ctx, image_set *out, const recipe *r, const char *found) {
    (void)r;
    listing l = {.labels = NULL};
    jf_status status;
    JF_TRY_DONE(list_pictures(ctx, out, &l, found));
    JF_TRY_DONE(read_pictures(ctx, out, &l));
    out->labels = l.labels;
    l.labels = NULL;
done:
    names_free(&l.paths);
    free(l.labels);
    return status;
}

const image_source image_folder = {
    .name = "folder",
    .summary = "a folder with one folder of pictures per class",
    .recognises = folder_recognises,
    .load = folder_load,
};
