#include "data/named.h"
#include "base/file.h"
#include "base/shell.h"
#include "io/memory_rows.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static jf_status fail_kind(const recipe *r, const char *path, const char *expected) {
    return jf_fail(recipe_context(r), JF_ERROR_IO,
                   "%s: found something else, expected %s: a model file names it", path, expected);
}

/* A file of zeros as large as a disk is refused before it is read. */
static int has_head(int fd, const char *path) {
    char head[4096];
    ssize_t size = read(fd, head, sizeof head);
    if (size < 0) return 0;
    if (strcmp(file_extension(path), ".npy") == 0) return size > 6 && memcmp(head, "\x93NUMPY", 6) == 0;
    return !memchr(head, 0, (size_t)size);
}

/* Opening a pipe or a device may wait for ever, or do something: its kind is looked at first. */
static jf_status check(const recipe *r, const char *path, int may_be_folder) {
    struct stat info;
    if (stat(path, &info) != 0) return fail_kind(r, path, "a file that can be opened");
    if (may_be_folder && S_ISDIR(info.st_mode)) return JF_OK;
    if (!S_ISREG(info.st_mode)) return fail_kind(r, path, may_be_folder ? "a file or a folder" : "a file");
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int good = fd < 0 || has_head(fd, path); /* what cannot be opened is told by those who read it */
    if (fd >= 0) close(fd);
    return good ? JF_OK : fail_kind(r, path, "a table or an array");
}

jf_status named_find(const recipe *r, const char *key, char **out) {
    JF_TRY(file_find_data(recipe_context(r), out, recipe_get(r, key)));
    if (!recipe_is_foreign(r)) return JF_OK;
    jf_status status = check(r, *out, strcmp(key, "data.images") == 0);
    if (status == JF_OK) return JF_OK;
    free(*out);
    *out = NULL;
    return status;
}

/* The key that names the data; NULL: they are no files. */
static const char *key_of_files(const recipe *r) {
    if (recipe_is(r, "data.set", "images"))
        return recipe_is(r, "data.images", "glyphs") ? NULL : "data.images";
    if (!recipe_is(r, "data.set", "table")) return NULL;
    return recipe_is(r, "data.file", MEMORY_ROWS_FILE) ? NULL : "data.file";
}

jf_status named_opened(const recipe *r, jf_status status) {
    const char *key = recipe_is_foreign(r) ? key_of_files(r) : NULL;
    text words = {0};
    if (!key || status == JF_OK || status == JF_ERROR_IO || status == JF_ERROR_MEMORY ||
        status == JF_ERROR_RANK || status == JF_STOPPED)
        return status;
    shell_add_path(&words, recipe_get(r, key));
    JF_TRY(text_check(recipe_context(r), &words));
    jf_fail(
        recipe_context(r), status,
        "%s: not the data that the model was trained on (%s of its recipe); what is wrong with them tells: "
        "jointflow judge MODEL --test %s",
        recipe_get(r, key), key, words.chars);
    text_free(&words);
    return status;
}

/* The file where it was found from the current directory; values that no recipe could hold stay as they are.
 */
static jf_status make_absolute(recipe *r, const char *key) {
    const char *name = recipe_get(r, key);
    char *found, *current, *path;
    if (!name || !*name || *name == '/' || strcmp(name, MEMORY_ROWS_FILE) == 0 || !file_exists(name))
        return JF_OK;
    if (!(current = getcwd(NULL, 0))) return JF_OK;
    jf_status status = file_join(recipe_context(r), &path, current, name);
    free(current);
    if (status != JF_OK) return status;
    found = realpath(path, NULL);
    if (found) status = recipe_set(r, key, found);
    free(found);
    free(path);
    return status == JF_ERROR_MEMORY ? status : JF_OK;
}

jf_status named_make_absolute(recipe *r) {
    static const char *const keys[] = {"data.file", "data.y_file"};
    for (size_t i = 0; recipe_is(r, "data.set", "table") && i < sizeof keys / sizeof *keys; i++)
        JF_TRY(make_absolute(r, keys[i]));
    return JF_OK;
}
