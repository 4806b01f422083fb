/* The known data sets. A new one is a line in the list. */
#include "data/known.h"
#include "base/digest.h"
#include "base/file.h"
#include "io/download.h"
#include "io/gzip.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the list ---- */

/* Four files by their SHA-256: 60,000 and 10,000 images of 28x28 bytes after a header of 16 bytes, and their
 * labels after one of 8. */
#define IDX_FILES(train_images, train_labels, t10k_images, t10k_labels)                                      \
    {"train-images-idx3-ubyte", 47040016, train_images}, {"train-labels-idx1-ubyte", 60008, train_labels},   \
        {"t10k-images-idx3-ubyte", 7840016, t10k_images}, {                                                  \
        "t10k-labels-idx1-ubyte", 10008, t10k_labels                                                         \
    }

const known_set known_sets[] = {
    {.name = "mnist",
     .about = "handwritten digits, 60,000 + 10,000 images of 28x28",
     .licence = "CC BY-SA 3.0",
     .source = "LeCun, Cortes, Burges",
     .mirrors = {"https://ossci-datasets.s3.amazonaws.com/mnist/",
                 "https://storage.googleapis.com/cvdf-datasets/mnist/"},
     .files = {IDX_FILES("ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                         "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                         "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                         "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2")}},
    {.name = "fashion-mnist",
     .about = "pieces of clothing, 60,000 + 10,000 images of 28x28",
     .licence = "MIT",
     .source = "Zalando Research",
     .mirrors = {"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
                 "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"}, /* it knows no https */
     .files = {IDX_FILES("c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                         "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                         "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                         "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34")}},
    {.name = "glyphs", .about = "drawn by the program itself"},
    {0},
};

/* How a file may lie in a folder. What is fetched is compressed. */
static const char *const endings[] = {"", ".gz"};
enum { FORMS = sizeof endings / sizeof *endings, FETCHED_FORM = 1 };

static int is_generated(const known_set *set) {
    return !set->files[0].name;
}

const known_set *known_find(jf_context *ctx, const char *name) {
    text names = {0};
    const known_set *found = NULL;
    for (const known_set *set = known_sets; set->name && !found; set++) {
        if (strcmp(set->name, name) == 0) found = set;
        text_add(&names, "%s%s", names.length ? ", " : "", set->name);
    }
    if (!found)
        jf_fail(ctx, JF_ERROR_ARGUMENT, "found \"%s\", expected the name of a known data set: %s", name,
                names.failed ? "" : names.chars);
    text_free(&names);
    return found;
}

/* FOLDER/NAME.gz, where the folder may be a URL. */
static jf_status path_of(jf_context *ctx, char **out, const char *folder, const known_file *file, int form) {
    size_t length = strlen(folder);
    text path = {0};
    text_add(&path, "%s%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", file->name,
             endings[form]);
    jf_status status = text_check(ctx, &path);
    if (status == JF_OK)
        *out = path.chars;
    else
        text_free(&path);
    return status;
}

/* ---- right or wrong ---- */

jf_status known_verify(jf_context *ctx, const char *path, const known_file *file) {
    uint8_t *content;
    size_t size;
    char sha256[SHA256_TEXT];
    JF_TRY(gzip_read(ctx, &content, &size, path, file->size));
    sha256_text(sha256, content, size);
    free(content);
    if (size == file->size && strcmp(sha256, file->sha256) == 0) return JF_OK;
    return jf_fail(ctx, JF_ERROR_DATA, "%s: found SHA-256 %s of %zu bytes, expected %s of %llu", path, sha256,
                   size, file->sha256, (unsigned long long)file->size);
}

typedef enum file_state { FILE_MISSING, FILE_RIGHT, FILE_WRONG } file_state;

/* The message on the context says what is wrong. A failure is one of ours, not of the file. */
static jf_status look_at(jf_context *ctx, file_state *out, const char *path, const known_file *file) {
    *out = FILE_MISSING;
    if (!file_exists(path)) return JF_OK;
    jf_status status = known_verify(ctx, path, file);
    *out = status == JF_OK ? FILE_RIGHT : FILE_WRONG;
    return status == JF_ERROR_MEMORY ? status : JF_OK;
}

/* ---- checking a folder ---- */

static jf_status check_file(jf_context *ctx, text *out, const known_file *file, const char *folder,
                            int *bad) {
    int there = 0;
    for (int form = 0; form < FORMS; form++) {
        char *path = NULL;
        file_state state = FILE_MISSING;
        JF_TRY(path_of(ctx, &path, folder, file, form));
        jf_status status = look_at(ctx, &state, path, file);
        if (state == FILE_RIGHT) text_add(out, "ok       %s\n", path);
        if (state == FILE_WRONG) text_add(out, "wrong    %s\n", jf_context_error(ctx));
        free(path);
        JF_TRY(status);
        there += state != FILE_MISSING;
        *bad += state == FILE_WRONG;
    }
    if (!there) text_add(out, "missing  %s/%s.gz\n", folder, file->name);
    *bad += !there;
    return JF_OK;
}

static jf_status check_set(jf_context *ctx, text *out, const known_set *set, const char *folder, int *bad) {
    for (const known_file *file = set->files; file->name; file++)
        JF_TRY(check_file(ctx, out, file, folder, bad));
    return JF_OK;
}

typedef struct file_count {
    int there, right;
} file_count;

static jf_status count_files(jf_context *ctx, file_count *out, const known_set *set, const char *folder) {
    *out = (file_count){0};
    for (const known_file *file = set->files; file->name; file++) {
        for (int form = 0; form < FORMS; form++) {
            char *path = NULL;
            file_state state = FILE_MISSING;
            JF_TRY(path_of(ctx, &path, folder, file, form));
            jf_status status = look_at(ctx, &state, path, file);
            free(path);
            JF_TRY(status);
            out->there += state != FILE_MISSING;
            out->right += state == FILE_RIGHT;
        }
    }
    return JF_OK;
}

static const known_set *named_like(const char *folder) {
    char *real = realpath(folder, NULL);
    const char *slash = real ? strrchr(real, '/') : NULL;
    const known_set *found = NULL;
    for (const known_set *set = known_sets; set->name && slash && !found; set++)
        if (strcmp(slash + 1, set->name) == 0 && !is_generated(set)) found = set;
    free(real);
    return found;
}

/* Sets share the names of their files: the folder's own name tells which set it holds, and where that says
 * nothing the set that most of its files belong to. NULL: no file has the name of a known one. */
static jf_status recognise(jf_context *ctx, const known_set **out, const char *folder) {
    int there = 0, most = 0;
    *out = named_like(folder);
    if (*out) return JF_OK;
    for (const known_set *set = known_sets; set->name; set++) {
        file_count count;
        JF_TRY(count_files(ctx, &count, set, folder));
        there += count.there;
        if (count.right > most) *out = set, most = count.right;
    }
    if (!there || *out) return JF_OK;
    return jf_fail(
        ctx, JF_ERROR_DATA,
        "%s: has files with the names of known ones, but none of them is right, and the folder is not "
        "named like a set",
        folder);
}

jf_status known_check(jf_context *ctx, text *out, const char *folder, int *bad) {
    int inner_sets = 0;
    *bad = 0;
    if (!file_is_folder(folder)) return jf_fail(ctx, JF_ERROR_IO, "%s: there is no such folder", folder);
    const known_set *itself = NULL;
    JF_TRY(recognise(ctx, &itself, folder));
    if (itself) JF_TRY(check_set(ctx, out, itself, folder, bad));
    for (const known_set *set = known_sets; set->name; set++) {
        char *inner = NULL;
        JF_TRY(file_join(ctx, &inner, folder, set->name));
        jf_status status = JF_OK;
        if (!is_generated(set) && file_is_folder(inner)) {
            inner_sets++;
            status = check_set(ctx, out, set, inner, bad);
        }
        free(inner);
        JF_TRY(status);
    }
    if (itself || inner_sets) return JF_OK;
    return jf_fail(ctx, JF_ERROR_DATA,
                   "%s: holds no known data set; expected files such as %s.gz, or a folder %s or %s", folder,
                   known_sets[0].files[0].name, known_sets[0].name, known_sets[1].name);
}

/* ---- listing ---- */

/* Where the files of a set are found when a recipe names it: how many there are, and the folder of the first,
 * yours to free. */
static jf_status find_files(jf_context *ctx, int *count, char **folder, const known_set *set) {
    *count = 0;
    *folder = NULL;
    for (const known_file *file = set->files; file->name; file++) {
        char *path = NULL;
        for (int form = 0; form < FORMS && !path; form++) {
            char *name = NULL;
            JF_TRY(path_of(ctx, &name, set->name, file, form));
            (void)file_find_data(ctx, &path, name); /* missing files are no failure here */
            free(name);
        }
        *count += path != NULL;
        if (path && !*folder) {
            *strrchr(path, '/') = '\0';
            *folder = path;
        } else {
            free(path);
        }
    }
    return JF_OK;
}

static jf_status list_set(jf_context *ctx, text *out, const known_set *set) {
    enum { COLUMN = 15 };
    int count, wanted = 0;
    char *folder;
    double bytes = 0;
    jf_status status = find_files(ctx, &count, &folder, set);
    if (status != JF_OK) {
        free(folder);
        return status;
    }
    for (const known_file *file = set->files; file->name; file++, wanted++) bytes += (double)file->size;
    text_add(out, "%-*s", COLUMN, set->name);
    if (is_generated(set))
        text_add(out, "needs no files\n%*s%s\n", COLUMN, "", set->about);
    else if (count == 0)
        text_add(out, "not found; fetch it with: jointflow data fetch %s\n", set->name);
    else if (count < wanted)
        text_add(out, "%d of %d files found in %s; fetch the others with: jointflow data fetch %s\n", count,
                 wanted, folder, set->name);
    else
        text_add(out, "found in %s\n", folder);
    if (!is_generated(set))
        text_add(out, "%*s%s; %.0f MB; %s, %s\n", COLUMN, "", set->about, bytes / 1e6, set->licence,
                 set->source);
    free(folder);
    return JF_OK;
}

jf_status known_list(jf_context *ctx, text *out) {
    for (const known_set *set = known_sets; set->name; set++) JF_TRY(list_set(ctx, out, set));
    return JF_OK;
}

/* ---- fetching ---- */

/* Where file_find_data() looks last. */
static jf_status user_folder(jf_context *ctx, char **out) {
    JF_TRY(file_user_data(ctx, out));
    return *out ? JF_OK : jf_fail(ctx, JF_ERROR_ARGUMENT, "there is no HOME to put data in; name a folder");
}

/* A set on its way. */
typedef struct fetch {
    jf_context *ctx;
    const char *const *mirrors; /* (mirror_count) */
    size_t mirror_count;
    const char *folder; /* of the set */
    const known_file *file;
} fetch;

static jf_status check_fetched(jf_context *ctx, const char *path, const void *file) {
    return known_verify(ctx, path, file);
}

static int tell_progress(void *user, uint64_t bytes, uint64_t total) {
    const fetch *f = user;
    return context_tell(f->ctx, &(jf_progress){.phase = f->file->name, .done = bytes, .total = total}) !=
           JF_OK;
}

/* Compressed files are smaller than their content, or, where it cannot be compressed, hardly larger. */
static uint64_t largest_download(const known_file *file) {
    return file->size + file->size / 1000 + 4096;
}

static jf_status download_known(jf_context *ctx, fetch *f, const char *path) {
    char **urls;
    jf_status status = JF_OK;
    JF_TRY(MEM_NEW(ctx, &urls, f->mirror_count + 1));
    for (size_t i = 0; i < f->mirror_count; i++)
        JF_TRY_DONE(path_of(ctx, &urls[i], f->mirrors[i], f->file, FETCHED_FORM));
    status = download_file(ctx, path,
                           &(download){.urls = (const char *const *)urls,
                                       .url_count = (int)f->mirror_count,
                                       .limit = largest_download(f->file),
                                       .check = check_fetched,
                                       .check_user = f->file,
                                       .progress = tell_progress,
                                       .user = f});
done:
    for (size_t i = 0; i < f->mirror_count; i++) free(urls[i]);
    free(urls);
    return status;
}

/* Nothing wrong is left beside a right file: whoever reads the set might take it. */
static jf_status fetch_file(jf_context *ctx, text *out, fetch *f) {
    char *paths[FORMS] = {0};
    file_state states[FORMS] = {FILE_MISSING};
    int right = -1;
    jf_status status = JF_OK;
    for (int form = 0; form < FORMS; form++) {
        JF_TRY_DONE(path_of(ctx, &paths[form], f->folder, f->file, form));
        JF_TRY_DONE(look_at(ctx, &states[form], paths[form], f->file));
        if (states[form] == FILE_RIGHT) right = form;
    }
    if (right >= 0) {
        text_add(out, "ok       %s\n", paths[right]);
    } else {
        JF_TRY_DONE(download_known(ctx, f, paths[FETCHED_FORM]));
        states[FETCHED_FORM] = FILE_RIGHT;
        text_add(out, "fetched  %s\n", paths[FETCHED_FORM]);
    }
    for (int form = 0; form < FORMS; form++)
        if (states[form] == FILE_WRONG && unlink(paths[form]) == 0)
            text_add(out, "removed  %s\n", paths[form]);
done:
    for (int form = 0; form < FORMS; form++) free(paths[form]);
    return status;
}

static jf_status fetch_files(jf_context *ctx, text *out, const known_set *set, fetch *f) {
    for (const known_file *file = set->files; file->name; file++) {
        f->file = file;
        JF_TRY(context_tell(ctx, &(jf_progress){.phase = file->name, .total = file->size}));
        JF_TRY(fetch_file(ctx, out, f));
    }
    return JF_OK;
}

jf_status known_fetch(jf_context *ctx, text *out, const known_set *set, const jf_fetch_options *options) {
    fetch f = {.ctx = ctx, .mirrors = options->mirrors, .mirror_count = options->mirror_count};
    char *parent = NULL, *folder = NULL;
    jf_status status = JF_OK;
    if (is_generated(set)) {
        text_add(out, "%s needs no files: it is %s\n", set->name, set->about);
        return JF_OK;
    }
    if (f.mirror_count == 0) {
        f.mirrors = set->mirrors;
        while (set->mirrors[f.mirror_count]) f.mirror_count++;
    }
    if (!options->folder) JF_TRY(user_folder(ctx, &parent));
    JF_TRY_DONE(file_join(ctx, &folder, parent ? parent : options->folder, set->name));
    JF_TRY_DONE(file_make_folder(ctx, folder));
    f.folder = folder;
    JF_TRY_DONE(fetch_files(ctx, out, set, &f));
    text_add(out, "%s: %s, %s\n", set->name, set->licence, set->source);
done:
    free(folder);
    free(parent);
    return status;
}
