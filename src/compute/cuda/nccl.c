/* Sums over the GPUs of several ranks by NCCL, which is looked for when a group is asked for: the few names
 * that are needed are declared here, so that building needs neither its header nor its library. They have
 * been the same since NCCL 2.4.
 *
 * Sums are queued in the device's stream and can be a part of a recording. Their order is NCCL's: the same in
 * every run of as many ranks on the same machines, and another one than that of the host's sums. */
#include "base/memory.h"
#include "compute/cuda/cuda.h"
#include "compute/cuda/profile.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY     "libnccl.so.2"
#define ENVIRONMENT "JOINTFLOW_NCCL" /* its path where it lies elsewhere, or "off" */
#define LEAST       20400

enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_SUM = 0, NCCL_FLOAT = 7, NCCL_DOUBLE = 8 };
typedef struct nccl_id {
    char bytes[DEVICE_GROUP_ID];
} nccl_id;
typedef void *nccl_comm;

typedef struct nccl_functions {
    int (*GetVersion)(int *version);
    int (*GetUniqueId)(nccl_id *id);
    int (*CommInitRank)(nccl_comm *comm, int size, nccl_id id, int rank);
    int (*CommDestroy)(nccl_comm comm);
    int (*CommAbort)(nccl_comm comm);
    int (*CommGetAsyncError)(nccl_comm comm, int *error);
    int (*AllReduce)(const void *from, void *to, size_t count, int type, int op, nccl_comm comm,
                     cudaStream_t stream);
    const char *(*GetErrorString)(int error);
} nccl_functions;

struct device_group {
    nccl_functions nccl;
    void *library;
    nccl_comm comm;
};

static jf_status find_functions(const device *d, void *library, nccl_functions *f) {
    const struct {
        const char *name;
        void **to;
    } wanted[] = {{"ncclGetVersion", (void **)&f->GetVersion},
                  {"ncclGetUniqueId", (void **)&f->GetUniqueId},
                  {"ncclCommInitRank", (void **)&f->CommInitRank},
                  {"ncclCommDestroy", (void **)&f->CommDestroy},
                  {"ncclCommAbort", (void **)&f->CommAbort},
                  {"ncclCommGetAsyncError", (void **)&f->CommGetAsyncError},
                  {"ncclAllReduce", (void **)&f->AllReduce},
                  {"ncclGetErrorString", (void **)&f->GetErrorString}};
    int version = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        *wanted[i].to = dlsym(library, wanted[i].name);
        if (!*wanted[i].to)
            return jf_fail(d->ctx, JF_ERROR_DEVICE, "NCCL: its library has no %s", wanted[i].name);
    }
    if (f->GetVersion(&version) == NCCL_SUCCESS && version >= LEAST) return JF_OK;
    return jf_fail(d->ctx, JF_ERROR_DEVICE, "NCCL: found version code %d, expected %d or later", version,
                   LEAST);
}

/* The library stays loaded: it may have threads of its own. */
static jf_status load(const device *d, void **library, nccl_functions *f) {
    const char *path = getenv(ENVIRONMENT);
    if (path && strcmp(path, "off") == 0)
        return jf_fail(d->ctx, JF_ERROR_DEVICE, "NCCL: switched off by " ENVIRONMENT);
    *library = dlopen(path && *path ? path : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!*library)
        return jf_fail(d->ctx, JF_ERROR_DEVICE, "NCCL: %s; " ENVIRONMENT " names its library", dlerror());
    return find_functions(d, *library, f);
}

static jf_status fail_nccl(const device *d, const nccl_functions *f, int error, const char *what) {
    return jf_fail(d->ctx, JF_ERROR_DEVICE, "NCCL: %s: %s", what, f->GetErrorString(error));
}

jf_status cuda_group_id(device *d, char *id) {
    nccl_functions f;
    nccl_id made;
    void *library;
    (void)cuda_use(d);
    JF_TRY(load(d, &library, &f));
    if (!id) return JF_OK;
    int error = f.GetUniqueId(&made);
    if (error != NCCL_SUCCESS) return fail_nccl(d, &f, error, "making an identifier");
    memcpy(id, made.bytes, sizeof made.bytes);
    return JF_OK;
}

jf_status cuda_group_open(device *d, device_group **out, const char id[DEVICE_GROUP_ID], int rank, int size) {
    device_group *g;
    nccl_id given;
    (void)cuda_use(d);
    *out = NULL;
    JF_TRY(MEM_NEW(d->ctx, &g, 1));
    jf_status status = load(d, &g->library, &g->nccl);
    memcpy(given.bytes, id, sizeof given.bytes);
    if (status == JF_OK) {
        int error = g->nccl.CommInitRank(&g->comm, size, given, rank);
        if (error != NCCL_SUCCESS) status = fail_nccl(d, &g->nccl, error, "meeting the other ranks");
    }
    if (status != JF_OK) {
        free(g);
        return status;
    }
    *out = g;
    return JF_OK;
}

void cuda_group_close(device *d, device_group *g, int failed) {
    cuda_device *own = cuda_use(d);
    if (!failed) cuda_note(own, cudaStreamSynchronize(own->stream), "running what was queued");
    (void)(failed ? g->nccl.CommAbort : g->nccl.CommDestroy)(g->comm);
    free(g);
}

static void sum(device *d, device_group *g, const void *from, void *to, size_t count, int type) {
    cuda_device *own = cuda_use(d);
    int error = g->nccl.AllReduce(from, to, count, type, NCCL_SUM, g->comm, own->stream);
    if (error != NCCL_SUCCESS && error != NCCL_IN_PROGRESS)
        cuda_note(own, cudaErrorUnknown, "adding up over ranks (NCCL)");
    if (own->profile) cuda_profile_mark(own, "sums over ranks", 0);
}

void cuda_group_sum(device *d, device_group *g, real *values, size_t count) {
    sum(d, g, values, values, count, NCCL_FLOAT);
}

void cuda_group_sum_scalars(device *d, device_group *g, scalar *to, const scalar *from, size_t count) {
    sum(d, g, from, to, count, NCCL_DOUBLE);
}

int cuda_group_done(device *d, device_group *g) {
    cuda_device *own = cuda_use(d);
    int broken = NCCL_SUCCESS;
    cudaError_t error = cudaStreamQuery(own->stream);
    if (error == cudaSuccess) return 1;
    if (error != cudaErrorNotReady) {
        cuda_note(own, error, "running what was queued");
        return 1; /* which `status` tells */
    }
    (void)cudaGetLastError();
    int asked = g->nccl.CommGetAsyncError(g->comm, &broken);
    return asked == NCCL_SUCCESS && (broken == NCCL_SUCCESS || broken == NCCL_IN_PROGRESS) ? 0 : -1;
}
