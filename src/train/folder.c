#include "train/folder.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The files of a run; others in its folder are the user's and are left alone. In the order in which they are removed: of
 * two checkpoints the newer one stays longer, and what needs them goes last. */
static const char *const run_files[] = {
    RUN_CHECKPOINT_PREVIOUS, RUN_CHECKPOINT, RUN_MODEL,    RUN_HISTORY,    RUN_RECIPE,    "judge.json",
    "report.html",           "maps.png",     "latent.png", "training.png", "samples.png", "calibration.png",
    "posterior.png"};
enum { RUN_FILES = sizeof run_files / sizeof *run_files, MAX_SET_ASIDE = 100 };
#define HALF_DONE RUN_SET_ASIDE ".tmp" /* being filled, or being removed */

struct run_folder {
    jf_context *ctx;
    char *path;
    folder_lock *lock;
    char *set_aside; /* where this run has set aside another one; NULL: it has not */
};

/* ---- removing ---- */

static jf_status remove_file(jf_context *ctx, const char *folder, const char *name) {
    char *path;
    JF_TRY(file_join(ctx, &path, folder, name));
    jf_status status = JF_OK;
    if (unlink(path) != 0 && errno != ENOENT)
        status = jf_fail(ctx, JF_ERROR_IO, "%s: could not be removed: %s", path, strerror(errno));
    free(path);
    return status;
}

/* The temporary name that file_write() and file_duplicate() give a file: NAME.PROCESS-COUNT.tmp */
static int is_temporary_of(const char *found, const char *name) {
    size_t length = strlen(name);
    if (strncmp(found, name, length) != 0 || found[length] != '.') return 0;
    const char *at = found + length + 1;
    size_t process = strspn(at, "0123456789");
    if (process == 0 || at[process] != '-') return 0;
    at += process + 1;
    size_t count = strspn(at, "0123456789");
    return count > 0 && strcmp(at + count, ".tmp") == 0;
}

static int is_half_written(const char *found) {
    int is = strcmp(found, RUN_CHECKPOINT_NEXT) == 0 || is_temporary_of(found, RUN_CHECKPOINT_NEXT);
    for (int i = 0; i < RUN_FILES && !is; i++) is = is_temporary_of(found, run_files[i]);
    return is;
}

/* Removes what killed writers left in a folder; they are dead, since the folder is locked. */
static jf_status remove_half_written(jf_context *ctx, const char *folder) {
    DIR *entries = opendir(folder);
    if (!entries)
        return jf_fail(ctx, JF_ERROR_IO, "%s: folder could not be read: %s", folder, strerror(errno));
    jf_status status = JF_OK;
    for (struct dirent *e; status == JF_OK && (e = readdir(entries));)
        if (is_half_written(e->d_name)) status = remove_file(ctx, folder, e->d_name);
    closedir(entries);
    return status;
}

/* A run that was set aside. What the user put beside it stays, and the folder with it. */
static jf_status remove_run(jf_context *ctx, const char *folder) {
    jf_status status = remove_half_written(ctx, folder);
    for (int i = 0; i < RUN_FILES && status == JF_OK; i++) status = remove_file(ctx, folder, run_files[i]);
    if (status == JF_OK && rmdir(folder) != 0 && errno != ENOTEMPTY && errno != EEXIST)
        status = jf_fail(ctx, JF_ERROR_IO, "%s: could not be removed: %s", folder, strerror(errno));
    return status;
}

static jf_status remove_half_done(const run_folder *f) {
    char *path;
    JF_TRY(file_join(f->ctx, &path, f->path, HALF_DONE));
    jf_status status = file_is_folder(path) ? remove_run(f->ctx, path) : JF_OK;
    free(path);
    return status;
}

/* ---- opening and closing ---- */

jf_status run_folder_open(jf_context *ctx, run_folder **out, const char *path) {
    run_folder *f;
    *out = NULL;
    JF_TRY(MEM_NEW(ctx, &f, 1));
    f->ctx = ctx;
    jf_status status;
    JF_TRY_DONE(mem_copy_text(ctx, &f->path, path));
    JF_TRY_DONE(folder_lock_take(ctx, &f->lock, path));
    JF_TRY_DONE(remove_half_written(ctx, path));
    JF_TRY_DONE(remove_half_done(f));
    *out = f;
    return JF_OK;
done:
    run_folder_close(f);
    return status;
}

void run_folder_close(run_folder *f) {
    if (!f) return;
    folder_lock_release(f->lock);
    free(f->set_aside);
    free(f->path);
    free(f);
}

/* ---- resuming ---- */

static jf_status holds_file(const run_folder *f, const char *name, int *out) {
    char *path;
    JF_TRY(file_join(f->ctx, &path, f->path, name));
    *out = file_exists(path);
    free(path);
    return JF_OK;
}

jf_status run_folder_check_resumable(const run_folder *f) {
    int newest, previous, aside;
    JF_TRY(holds_file(f, RUN_CHECKPOINT, &newest));
    JF_TRY(holds_file(f, RUN_CHECKPOINT_PREVIOUS, &previous));
    JF_TRY(holds_file(f, RUN_SET_ASIDE, &aside));
    if (newest || previous) return JF_OK;
    return jf_fail(f->ctx, JF_ERROR_IO,
                   "%s: holds no checkpoint (" RUN_CHECKPOINT "), so nothing to resume%s", f->path,
                   aside ? "; a run from before is in its folder " RUN_SET_ASIDE : "");
}

/* ---- setting aside ---- */

/* FOLDER/old-run, FOLDER/old-run-2, ... */
static jf_status name_set_aside(const run_folder *f, char **out, int number) {
    text name = {0};
    *out = NULL;
    text_add(&name, RUN_SET_ASIDE);
    if (number > 1) text_add(&name, "-%d", number);
    jf_status status = text_check(f->ctx, &name);
    if (status == JF_OK) status = file_join(f->ctx, out, f->path, name.chars);
    text_free(&name);
    return status;
}

/* The first name that is free: what was set aside by runs that have not finished stays. */
static jf_status free_name(const run_folder *f, char **out) {
    for (int number = 1; number <= MAX_SET_ASIDE; number++) {
        JF_TRY(name_set_aside(f, out, number));
        if (!file_exists(*out)) return JF_OK;
        free(*out);
    }
    *out = NULL;
    return jf_fail(f->ctx, JF_ERROR_IO,
                   "%s: %d runs are set aside here already, in folders " RUN_SET_ASIDE
                   "; remove those that you do not need",
                   f->path, MAX_SET_ASIDE);
}

static jf_status duplicate_file(jf_context *ctx, const char *from_folder, const char *to_folder,
                                const char *name) {
    char *from = NULL, *to = NULL;
    jf_status status;
    JF_TRY_DONE(file_join(ctx, &from, from_folder, name));
    JF_TRY_DONE(file_join(ctx, &to, to_folder, name));
    if (file_exists(from)) JF_TRY_DONE(file_duplicate(ctx, from, to));
done:
    free(from);
    free(to);
    return status;
}

/* The files get second names in a folder that only then gets its own; after that they lose their first ones. */
static jf_status set_aside_as(const run_folder *f, const char *half_done, const char *final) {
    JF_TRY(file_make_folder(f->ctx, half_done));
    for (int i = 0; i < RUN_FILES; i++) JF_TRY(duplicate_file(f->ctx, f->path, half_done, run_files[i]));
    file_sync_folder(half_done);
    JF_TRY(file_rename(f->ctx, half_done, final));
    for (int i = 0; i < RUN_FILES; i++) JF_TRY(remove_file(f->ctx, f->path, run_files[i]));
    file_sync_folder(f->path);
    return JF_OK;
}

jf_status run_folder_set_aside(run_folder *f) {
    char *half_done = NULL, *final = NULL;
    int any = 0;
    jf_status status;
    for (int i = 0; i < RUN_FILES && !any; i++) JF_TRY(holds_file(f, run_files[i], &any));
    if (!any) return JF_OK;
    JF_TRY_DONE(file_join(f->ctx, &half_done, f->path, HALF_DONE));
    JF_TRY_DONE(free_name(f, &final));
    JF_TRY_DONE(set_aside_as(f, half_done, final));
    jf_log(f->ctx, "the run that was here is kept in %s until this one has finished", final);
    f->set_aside = final;
    final = NULL;
done:
    free(half_done);
    free(final);
    return status;
}

/* Renamed first: killed in between, it is not taken for a run. */
static jf_status remove_set_aside(const run_folder *f, const char *half_done, const char *path) {
    if (!file_is_folder(path)) return JF_OK;
    JF_TRY(file_rename(f->ctx, path, half_done));
    JF_TRY(remove_run(f->ctx, half_done));
    return file_is_folder(half_done) ? file_rename(f->ctx, half_done, path) : JF_OK; /* the user's files */
}

static jf_status put_back(const run_folder *f) {
    char *half_done;
    for (int i = 0; i < RUN_FILES; i++) JF_TRY(remove_file(f->ctx, f->path, run_files[i]));
    for (int i = 0; i < RUN_FILES; i++) JF_TRY(duplicate_file(f->ctx, f->set_aside, f->path, run_files[i]));
    JF_TRY(file_join(f->ctx, &half_done, f->path, HALF_DONE));
    jf_status status = remove_set_aside(f, half_done, f->set_aside);
    free(half_done);
    return status;
}

jf_status run_folder_give_up(run_folder *f, jf_status failure) {
    int begun = 1;
    char *sentence = NULL;
    if (!f->set_aside || holds_file(f, RUN_CHECKPOINT, &begun) != JF_OK || begun) return failure;
    if (mem_copy_text(f->ctx, &sentence, jf_context_error(f->ctx)) != JF_OK) return failure;
    if (put_back(f) == JF_OK)
        jf_log(f->ctx, "the run that was here before is back in its place");
    else
        jf_warn(f->ctx, "the run that was here before is in %s: %s", f->set_aside, jf_context_error(f->ctx));
    failure = jf_fail(f->ctx, failure, "%s", sentence); /* what failed first is what failed */
    free(sentence);
    return failure;
}

void run_folder_finish(run_folder *f) {
    char *half_done = NULL, *path = NULL;
    jf_status status = file_join(f->ctx, &half_done, f->path, HALF_DONE);
    for (int number = 1; number <= MAX_SET_ASIDE && status == JF_OK; number++) {
        status = name_set_aside(f, &path, number);
        if (status == JF_OK) status = remove_set_aside(f, half_done, path);
        free(path);
    }
    if (status != JF_OK) jf_warn(f->ctx, "the run from before is still there: %s", jf_context_error(f->ctx));
    free(half_done);
}
