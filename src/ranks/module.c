/* Finding out that a launcher has started several processes, and the module by which they meet. */
#include "base/file.h"
#include "base/memory.h"
#include "base/threads.h"
#include "ranks/private.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULE      "libjointflow-mpi.so"
#define ENVIRONMENT "JOINTFLOW_MPI_MODULE" /* its path, where it lies elsewhere */
#ifndef JF_MODULE_FOLDER
#define JF_MODULE_FOLDER "lib/jointflow" /* below the prefix of an installation */
#endif

/* What launchers tell those that they start. That of a job of SLURM is its step's: a batch script by itself
 * is no step. */
static const char *const size_variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
                                             NULL};

/* Those of them that are on this machine. */
static const char *const local_variables[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                              "SLURM_NTASKS_PER_NODE", NULL};

/* The first of the variables that is a number above 1, or 1. */
static int count_of(const char *const *variables) {
    for (int i = 0; variables[i]; i++) {
        const char *told = getenv(variables[i]);
        char *end;
        long count = told ? strtol(told, &end, 10) : 0;
        if (count > 1 && count <= INT_MAX && *end == 0) return (int)count;
    }
    return 1;
}

static const char *const place_variables[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                              "SLURM_LOCALID", NULL};

int ranks_place(const ranks *r) {
    if (r->whole) r = r->whole;
    for (int i = 0; place_variables[i] && r->size > 1; i++) {
        const char *told = getenv(place_variables[i]);
        char *end;
        long place = told ? strtol(told, &end, 10) : 0;
        if (told && end != told && *end == 0 && place >= 0 && place < r->size) return (int)place;
    }
    return 0;
}

int ranks_launched(void) {
    return count_of(size_variables);
}

int ranks_share_machine(const ranks *r) {
    return count_of(local_variables) >= r->size;
}

/* A launcher may have bound this process to some processors, which others may share. */
int ranks_threads(ranks *r, int threads) {
    int local = count_of(local_variables), bound = threads_available();
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    if (r->whole) r = r->whole;
    if (r->size == 1 || all < 1) return threads;
    if (threads <= 0) {
        int part = (int)all / local;
        threads = part < 1 ? 1 : part < bound ? part : bound;
    }
    context_set_crowded(r->ctx, (long)local * threads > all);
    return threads;
}

/* ---- the module ---- */

/* The folder of the program or library that this code is a part of, `up` levels higher. */
static jf_status own_folder(jf_context *ctx, char **out, int up) {
    JF_TRY(file_of_code(ctx, out));
    for (int i = 0; *out && i <= up && strrchr(*out, '/'); i++) *strrchr(*out, '/') = 0;
    return JF_OK;
}

/* Place i where the module may be; returns 0 past the last. Beside the program or library, as they are built;
 * below the prefix that they were installed to, whose folder of libraries may have folders of its own. */
static int place(jf_context *ctx, int i, char **out) {
    static const struct {
        int up;
        const char *file;
    } places[] = {{0, MODULE}, {1, JF_MODULE_FOLDER "/" MODULE}, {2, JF_MODULE_FOLDER "/" MODULE}};
    char *folder;
    *out = NULL;
    if (i == 0 && getenv(ENVIRONMENT)) mem_copy_text(ctx, out, getenv(ENVIRONMENT));
    if (i == 0) return 1;
    if ((size_t)i > sizeof places / sizeof *places) return 0;
    if (own_folder(ctx, &folder, places[i - 1].up) == JF_OK && folder)
        file_join(ctx, out, folder, places[i - 1].file);
    free(folder);
    return 1;
}

static jf_status find_module(jf_context *ctx, char **out) {
    char *path;
    *out = NULL;
    for (int i = 0; place(ctx, i, &path); i++) {
        if (path && file_exists(path)) {
            *out = path;
            return JF_OK;
        }
        free(path);
    }
    return jf_fail(
        ctx, JF_ERROR_RANK,
        "several processes were started, and the module by which they work together, " MODULE
        ", is not installed: install libopenmpi-dev and openmpi-bin and build again, or the package "
        "libjointflow-mpi; " ENVIRONMENT " names it where it lies elsewhere");
}

/* Stays loaded: what MPI leaves behind may still be called when the program ends. */
static jf_status load_module(jf_context *ctx, const ranks_link **out) {
    char *path;
    jf_status status = find_module(ctx, &path);
    if (status != JF_OK) return status;
    void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    *out = module ? dlsym(module, RANKS_LINK_SYMBOL) : NULL;
    if (!*out)
        status = jf_fail(ctx, JF_ERROR_RANK, "%s cannot be loaded: %s", path, dlerror());
    else if ((*out)->version != RANKS_LINK_VERSION)
        status = jf_fail(ctx, JF_ERROR_RANK, "%s is of another version of jointflow (%u, expected %u)", path,
                         (*out)->version, RANKS_LINK_VERSION);
    free(path);
    return status;
}

/* ---- meeting ---- */

static jf_status check_size(jf_context *ctx, const ranks_link *link, int size, int expected) {
    int launched = ranks_launched();
    if (size != launched && launched > 1)
        return jf_fail(
            ctx, JF_ERROR_RANK,
            "the launcher started %d processes, of which %s connects %d: use the launcher of the same "
            "MPI (with srun: --mpi=pmix)",
            launched, link->name, size);
    if (expected > 0 && size != expected)
        return jf_fail(ctx, JF_ERROR_RANK,
                       "%d ranks were asked for, %d were started: mpirun -n %d jointflow ...", expected, size,
                       expected);
    return JF_OK;
}

/* One rank that was asked for: there is nobody to hear from. */
static void none(void *own) {
    (void)own;
}
static void no_sign(void *own, int patience) {
    (void)own;
    (void)patience;
}
static int nobody(void *own) {
    (void)own;
    return 0;
}
static const ranks_link no_link = {
    .version = RANKS_LINK_VERSION, .name = "none", .leave = none, .beat = no_sign, .heard = nobody};

jf_status ranks_join(jf_context *ctx, int expected, double limit) {
    const ranks_link *link = NULL;
    void *own = NULL;
    int rank = 0, size = 1;
    char why[512] = "";
    if (ranks_launched() == 1 && expected == 0) return JF_OK;
    if (ranks_launched() == 1 && expected == 1) return ranks_join_link(ctx, &no_link, NULL, 0, 1, limit);
    JF_TRY(load_module(ctx, &link));
    if (link->join(&own, &rank, &size, why, sizeof why) != 0)
        return jf_fail(ctx, JF_ERROR_RANK, "%s: %s", link->name, why);
    jf_status status = ranks_join_link(ctx, link, own, rank, size, limit);
    if (status != JF_OK) {
        link->leave(own);
        return status;
    }
    status = check_size(ctx, link, size, expected);
    ranks_of(ctx)->agreed = status != JF_OK; /* all come to the same */
    return status;
}
