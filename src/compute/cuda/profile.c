/* The profile of the cuda device: an event of the GPU after each launch. The time from one event to the next
 * belongs to the part that the later one names; where the host has waited in between, counting begins anew,
 * so that a GPU that waits for the host is not taken for one that works. Recordings are asked for launch by
 * launch meanwhile. */
#include "compute/cuda/profile.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MARKS = 4096, /* events that may wait to be read */
    PARTS = 128
};

typedef struct mark {
    cudaEvent_t event;
    const char *part; /* NULL: counting begins here */
    double flops;
} mark;

struct cuda_profile {
    pthread_mutex_t lock;
    mark marks[MARKS];
    int pending; /* marks */
    int events;  /* of the marks, that were made */
    int begun;   /* whether the GPU's time is being counted */
    profile_part parts[PARTS];
    int count; /* parts */
    double since;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* NULL: there are too many, and its time is left to the rest. */
static profile_part *part_named(cuda_profile *p, const char *name) {
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->parts[i].name, name) == 0) return &p->parts[i];
    if (p->count == PARTS) return NULL;
    p->parts[p->count] = (profile_part){.name = name};
    return &p->parts[p->count++];
}

/* ---- under the profile's lock ---- */

/* Waits for the marks and adds up their times. */
static void collect(cuda_device *own) {
    cuda_profile *p = own->profile;
    if (p->pending > 0)
        cuda_note(own, cudaEventSynchronize(p->marks[p->pending - 1].event), "waiting for an event");
    for (int i = 1; i < p->pending; i++) {
        const mark *m = &p->marks[i];
        profile_part *part = m->part ? part_named(p, m->part) : NULL;
        float ms = 0;
        if (!part) continue;
        cuda_note(own, cudaEventElapsedTime(&ms, p->marks[i - 1].event, m->event), "reading an event");
        part->seconds += 1e-3 * (double)ms;
        part->flops += m->flops;
        part->calls++;
    }
    p->pending = p->begun = 0;
}

static void set_mark(cuda_device *own, const char *part, double flops) {
    if (own->profile->pending == MARKS) collect(own);
    mark *m = &own->profile->marks[own->profile->pending++];
    m->part = part;
    m->flops = flops;
    cuda_note(own, cudaEventRecord(m->event, own->stream), "recording an event");
}

/* ---- for the device ---- */

void cuda_profile_begin(cuda_device *own) {
    cuda_profile *p = own->profile;
    if (own->capturing) return;
    pthread_mutex_lock(&p->lock);
    if (!p->begun) set_mark(own, NULL, 0);
    p->begun = 1;
    pthread_mutex_unlock(&p->lock);
}

void cuda_profile_mark(cuda_device *own, const char *part, double flops) {
    cuda_profile *p = own->profile;
    if (own->capturing) return;
    pthread_mutex_lock(&p->lock);
    set_mark(own, part, flops);
    pthread_mutex_unlock(&p->lock);
}

void cuda_profile_waited(cuda_device *own) {
    pthread_mutex_lock(&own->profile->lock);
    collect(own);
    pthread_mutex_unlock(&own->profile->lock);
}

void cuda_profile_close(cuda_device *own) {
    cuda_profile *p = own->profile;
    if (!p) return;
    for (int i = 0; i < p->events; i++) (void)cudaEventDestroy(p->marks[i].event);
    pthread_mutex_destroy(&p->lock);
    free(p);
    own->profile = NULL;
}

static jf_status open_profile(device *d) {
    cuda_device *own = d->own;
    JF_TRY(MEM_NEW(d->ctx, &own->profile, 1));
    pthread_mutex_init(&own->profile->lock, NULL);
    for (int *made = &own->profile->events; *made < MARKS; ++*made) {
        cudaError_t error = cudaEventCreate(&own->profile->marks[*made].event);
        if (error == cudaSuccess) continue;
        (void)cudaGetLastError();
        cuda_profile_close(own);
        return jf_fail(d->ctx, JF_ERROR_DEVICE, "cuda device: making the events of a profile: %s",
                       cudaGetErrorString(error));
    }
    return JF_OK;
}

/* ---- the entries of the table ---- */

jf_status cuda_profile_start(device *d) {
    cuda_device *own = d->own;
    cuda_note(own, cudaSetDevice(own->index), "choosing the GPU");
    cuda_note(own, cudaStreamSynchronize(own->stream), "running what was queued");
    if (!own->profile) JF_TRY(open_profile(d));
    cuda_profile *p = own->profile;
    pthread_mutex_lock(&p->lock);
    p->pending = p->begun = 0;
    for (int i = 0; i < p->count; i++) p->parts[i] = (profile_part){.name = p->parts[i].name};
    p->since = now();
    pthread_mutex_unlock(&p->lock);
    return JF_OK;
}

int cuda_profile_read(const device *d, int part, profile_part *out) {
    cuda_device *own = d->own;
    cuda_profile *p = own->profile;
    if (!p) return 0;
    pthread_mutex_lock(&p->lock);
    collect(own);
    int found = part >= 0 && part <= p->count;
    if (found && part < p->count) *out = p->parts[part];
    if (found && part == p->count) {
        *out = (profile_part){.name = "rest: waiting, host", .seconds = now() - p->since};
        for (int i = 0; i < p->count; i++) out->seconds -= p->parts[i].seconds;
        if (out->seconds < 0) out->seconds = 0; /* two clocks */
    }
    pthread_mutex_unlock(&p->lock);
    return found;
}
