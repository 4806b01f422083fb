#include "train/run_folder.h"
#include "base/entries.h"
#include "base/lock.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The files of a run; others in its folder are the user's and are left alone. In the order in which they are
 * removed: of two checkpoints the newer one stays longer, and what needs them goes last. */
static const char *const run_files[] = {
    RUN_CHECKPOINT_PREVIOUS, RUN_CHECKPOINT, RUN_MODEL,    RUN_HISTORY,    RUN_RECIPE,    "judge.json",
    "report.html",           "maps.png",     "latent.png", "training.png", "samples.png", "calibration.png",
    "posterior.png"};
enum { RUN_FILES = sizeof run_files / sizeof *run_files, MAX_SET_ASIDE = 100 };
#define HALF_DONE RUN_SET_ASIDE ".tmp" /* being filled, or being removed */

typedef char entry_name[32];

struct run_folder {
    entries at;
    folder_lock *lock;
    entry_name set_aside; /* where this run has set aside another one; empty: it has not */
};

/* ---- removing ---- */

/* The temporary name that writers in base/file.c give a file: NAME.PROCESS-COUNT.tmp */
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
static jf_status remove_half_written(const entries *e) {
    int fd = openat(e->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (!list) {
        if (fd >= 0) close(fd);
        return entry_fail(e, ".", "folder could not be read");
    }
    jf_status status = JF_OK;
    for (struct dirent *found; status == JF_OK && (found = readdir(list));)
        if (is_half_written(found->d_name)) status = entry_remove(e, found->d_name);
    closedir(list);
    return status;
}

static jf_status remove_run_files(const entries *e) {
    jf_status status = JF_OK;
    for (int i = 0; i < RUN_FILES && status == JF_OK; i++) status = entry_remove(e, run_files[i]);
    return status;
}

/* A run that was set aside. What the user put beside it stays, and the folder with it. */
static jf_status remove_run(const entries *in, const char *name) {
    entries run;
    JF_TRY(entries_open_in(in, &run, name));
    jf_status status = remove_half_written(&run);
    if (status == JF_OK) status = remove_run_files(&run);
    entries_close(&run);
    return status == JF_OK ? entry_remove_folder(in, name) : status;
}

/* A link of that name is no folder of ours, but it is in the way of one. A file is left to the user. */
static jf_status remove_half_done(const entries *e) {
    mode_t type = entry_type(e, HALF_DONE);
    if (type == S_IFDIR) return remove_run(e, HALF_DONE);
    return type == S_IFLNK ? entry_remove(e, HALF_DONE) : JF_OK;
}

/* ---- opening and closing ---- */

jf_status run_folder_open(jf_context *ctx, run_folder **out, const char *path) {
    run_folder *f;
    *out = NULL;
    JF_TRY(MEM_NEW(ctx, &f, 1));
    jf_status status;
    JF_TRY_DONE(entries_open(ctx, &f->at, path));
    JF_TRY_DONE(folder_lock_take(ctx, &f->lock, path));
    JF_TRY_DONE(remove_half_written(&f->at));
    JF_TRY_DONE(remove_half_done(&f->at));
    *out = f;
    return JF_OK;
done:
    run_folder_close(f);
    return status;
}

void run_folder_close(run_folder *f) {
    if (!f) return;
    folder_lock_release(f->lock);
    entries_close(&f->at);
    free(f);
}

/* ---- resuming ---- */

jf_status run_folder_check_resumable(const run_folder *f) {
    const entries *e = &f->at;
    if (entry_type(e, RUN_CHECKPOINT) || entry_type(e, RUN_CHECKPOINT_PREVIOUS)) return JF_OK;
    return jf_fail(e->ctx, JF_ERROR_IO,
                   "%s: holds no checkpoint (" RUN_CHECKPOINT "), so nothing to resume%s", e->path,
                   entry_type(e, RUN_SET_ASIDE) ? "; a run from before is in its folder " RUN_SET_ASIDE : "");
}

/* ---- moving a run between the folder and one in it ---- */

/* The file of the run that a link names, be it with the folder before it; NULL: it names something else. */
static jf_status find_run_file(const entries *e, const char *target, const char **out) {
    const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
    struct stat named, here;
    char *folder;
    *out = NULL;
    for (int i = 0; i < RUN_FILES && !*out; i++)
        if (strcmp(name, run_files[i]) == 0) *out = run_files[i];
    if (!*out || !slash) return JF_OK;
    JF_TRY(mem_copy_text(e->ctx, &folder, target));
    folder[slash - target + 1] = '\0';
    if (fstatat(e->fd, folder, &named, 0) != 0 || fstat(e->fd, &here) != 0 || named.st_dev != here.st_dev ||
        named.st_ino != here.st_ino)
        *out = NULL;
    free(folder);
    return JF_OK;
}

/* What a link leads to, named from a folder one further in or out. Files of the run move, too. */
static jf_status moved_target(const entries *from, const char *target, int inwards, text *out) {
    static const char up[] = "../";
    const char *own;
    JF_TRY(find_run_file(from, target, &own));
    if (own)
        text_add(out, "%s", own);
    else if (inwards)
        text_add(out, "%s%s", *target == '/' ? "" : up, target);
    else
        text_add(out, "%s", target + (strncmp(target, up, strlen(up)) == 0 ? strlen(up) : 0));
    return text_check(from->ctx, out);
}

static jf_status duplicate_link(const entries *from, const entries *to, const char *name, int inwards) {
    char *target;
    text moved = {0};
    JF_TRY(entry_read_link(from, name, &target));
    jf_status status = moved_target(from, target, inwards, &moved);
    if (status == JF_OK) status = entry_make_link(to, name, moved.chars);
    text_free(&moved);
    free(target);
    return status;
}

static jf_status duplicate_run(const entries *from, const entries *to, int inwards) {
    for (int i = 0; i < RUN_FILES; i++) {
        const char *name = run_files[i];
        mode_t type = entry_type(from, name);
        if (type == S_IFREG)
            JF_TRY(entry_duplicate(from, to, name));
        else if (type == S_IFLNK)
            JF_TRY(duplicate_link(from, to, name, inwards));
        else if (type)
            return jf_fail(from->ctx, JF_ERROR_IO,
                           "%s: %s in it is not a file, expected one of a run; move it away", from->path,
                           name);
    }
    (void)fsync(to->fd);
    return JF_OK;
}

/* ---- setting aside ---- */

/* old-run, old-run-2, ... */
static void name_set_aside(entry_name out, int number) {
    if (number > 1)
        snprintf(out, sizeof(entry_name), RUN_SET_ASIDE "-%d", number);
    else
        snprintf(out, sizeof(entry_name), RUN_SET_ASIDE);
}

/* The first name that is free: what was set aside by runs that have not finished stays. */
static jf_status free_name(const entries *e, entry_name out) {
    for (int number = 1; number <= MAX_SET_ASIDE; number++) {
        name_set_aside(out, number);
        if (!entry_type(e, out)) return JF_OK;
    }
    return jf_fail(e->ctx, JF_ERROR_IO,
                   "%s: %d runs are set aside here already, in folders " RUN_SET_ASIDE
                   "; remove those that you do not need",
                   e->path, MAX_SET_ASIDE);
}

/* The files get second names in a folder that only then gets its own; after that they lose their first ones.
 */
static jf_status set_aside_as(const entries *e, const char *name) {
    entries half_done;
    JF_TRY(entry_make_folder(e, HALF_DONE));
    JF_TRY(entries_open_in(e, &half_done, HALF_DONE));
    jf_status status = duplicate_run(e, &half_done, 1);
    entries_close(&half_done);
    if (status == JF_OK) status = entry_rename(e, HALF_DONE, name);
    if (status == JF_OK) status = remove_run_files(e);
    if (status == JF_OK) (void)fsync(e->fd);
    return status;
}

jf_status run_folder_set_aside(run_folder *f) {
    const entries *e = &f->at;
    entry_name name;
    int any = 0;
    for (int i = 0; i < RUN_FILES && !any; i++) any = entry_type(e, run_files[i]) != 0;
    if (!any) return JF_OK;
    JF_TRY(free_name(e, name));
    JF_TRY(set_aside_as(e, name));
    jf_log(e->ctx, "the run that was here is kept in %s/%s until this one has finished", e->path, name);
    memcpy(f->set_aside, name, sizeof name);
    return JF_OK;
}

/* Renamed first: killed in between, it is not taken for a run. */
static jf_status remove_set_aside(const entries *e, const char *name) {
    if (entry_type(e, name) != S_IFDIR) return JF_OK;
    JF_TRY(entry_rename(e, name, HALF_DONE));
    JF_TRY(remove_run(e, HALF_DONE));
    return entry_type(e, HALF_DONE) ? entry_rename(e, HALF_DONE, name) : JF_OK; /* the user's files */
}

static jf_status put_back(const run_folder *f) {
    entries aside;
    JF_TRY(remove_run_files(&f->at));
    JF_TRY(entries_open_in(&f->at, &aside, f->set_aside));
    jf_status status = duplicate_run(&aside, &f->at, 0);
    entries_close(&aside);
    return status == JF_OK ? remove_set_aside(&f->at, f->set_aside) : status;
}

jf_status run_folder_give_up(run_folder *f, jf_status failure) {
    jf_context *ctx = f->at.ctx;
    char *sentence = NULL;
    if (!*f->set_aside || entry_type(&f->at, RUN_CHECKPOINT)) return failure;
    if (mem_copy_text(ctx, &sentence, jf_context_error(ctx)) != JF_OK) return failure;
    if (put_back(f) == JF_OK)
        jf_log(ctx, "the run that was here before is back in its place");
    else
        jf_warn(ctx, "the run that was here before is in %s/%s: %s", f->at.path, f->set_aside,
                jf_context_error(ctx));
    failure = jf_fail(ctx, failure, "%s", sentence); /* what failed first is what failed */
    free(sentence);
    return failure;
}

void run_folder_finish(run_folder *f) {
    jf_status status = JF_OK;
    for (int number = 1; number <= MAX_SET_ASIDE && status == JF_OK; number++) {
        entry_name name;
        name_set_aside(name, number);
        status = remove_set_aside(&f->at, name);
    }
    if (status != JF_OK)
        jf_warn(f->at.ctx, "the run from before is still there: %s", jf_context_error(f->at.ctx));
}
