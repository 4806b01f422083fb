#define _GNU_SOURCE /* memfd_create */
#include "ranks/memory.h"
#include "base/memory.h"
#include "base/tree.h"
#include "ranks/private.h"
#include <fcntl.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "jointflow-ranks"
enum { CACHE_LINE = 64, PAGE = 4096 };

/* Of each rank, in the memory. Two boards: who is ahead writes to one while others still read the other. */
typedef struct place {
    alignas(CACHE_LINE) _Atomic uint64_t meetings; /* that it has come to */
    alignas(CACHE_LINE) double board[2][RANKS_MEMORY_SUMS];
} place;

/* Where the memory begins. The key tells it from what another machine has under the same name. */
typedef struct head {
    uint64_t key[2];
} head;

struct ranks_memory {
    ranks *r;
    char *base; /* head, places, then the bytes */
    size_t bytes;
    place *places;     /* (ranks) */
    uint64_t meetings; /* of this rank */
    int seen;          /* ranks 0 .. seen-1 are there, too */
};

/* What rank 0 tells the others. */
typedef struct invitation {
    uint64_t key[2];
    char path[64];
} invitation;

static size_t places_at(void) {
    return (sizeof(head) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}
static size_t bytes_at(const ranks *r) {
    return (places_at() + (size_t)r->size * sizeof(place) + PAGE - 1) / PAGE * PAGE;
}

/* A mapping outlives its file. 0: done. */
static int map_file(ranks_memory *m, int file) {
    struct stat found;
    void *base = MAP_FAILED;
    if (file >= 0 && fstat(file, &found) == 0 && (size_t)found.st_size == m->bytes)
        base = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (base == MAP_FAILED) return 1;
#ifdef MADV_HUGEPAGE
    madvise(base, m->bytes, MADV_HUGEPAGE); /* where the system has them for files */
#endif
    m->base = base;
    m->places = (place *)(m->base + places_at());
    return 0;
}

/* Of rank 0. The file is open until the others have mapped it, by the name that /proc has for it. */
static int create(ranks_memory *m, invitation *told, int *file) {
    *file = memfd_create(NAME, MFD_CLOEXEC);
    if (*file < 0 || ftruncate(*file, (off_t)m->bytes) != 0 || map_file(m, *file)) return 1;
    if (getrandom(told->key, sizeof told->key, 0) != (ssize_t)sizeof told->key) return 1;
    memcpy(((head *)(void *)m->base)->key, told->key, sizeof told->key);
    snprintf(told->path, sizeof told->path, "/proc/%ld/fd/%d", (long)getpid(), *file);
    return 0;
}

/* What has another name is not opened: on another machine it may be anything. */
static int join(ranks_memory *m, const invitation *told) {
    char name[64] = "";
    if (readlink(told->path, name, sizeof name - 1) < 0 || !strstr(name, NAME)) return 1;
    int file = open(told->path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    int failed = map_file(m, file) ||
                 memcmp(((const head *)(const void *)m->base)->key, told->key, sizeof told->key) != 0;
    if (file >= 0) close(file);
    return failed;
}

/* Each step is one that all ranks take, so that nobody waits for one that could not. */
static jf_status open_all(ranks_memory *m, int wanted, double *missing) {
    ranks *r = m->r;
    invitation told = {0};
    int file = -1;
    *missing = !wanted;
    JF_TRY(ranks_sum_doubles(r, missing, 1));
    if (*missing > 0) return JF_OK;
    if (r->rank == 0 && create(m, &told, &file)) told = (invitation){0};
    jf_status status = ranks_broadcast(r, &told, sizeof told, 0);
    *missing = !told.path[0] || (r->rank > 0 && join(m, &told));
    if (status == JF_OK) status = ranks_sum_doubles(r, missing, 1);
    if (file >= 0) close(file);
    return status;
}

jf_status ranks_memory_open(ranks_memory **out, ranks *r, size_t bytes, int wanted) {
    ranks_memory *m;
    double missing;
    *out = NULL;
    if (r->size == 1 || r->size > TREE_MOST) return JF_OK;
    JF_TRY(MEM_NEW(r->ctx, &m, 1));
    *m = (ranks_memory){.r = r, .bytes = bytes_at(r) + bytes};
    jf_status status = open_all(m, wanted, &missing);
    if (status == JF_OK && missing == 0) {
        *out = m;
        return JF_OK;
    }
    ranks_memory_close(m);
    return status;
}

void ranks_memory_close(ranks_memory *m) {
    if (!m) return;
    if (m->base) munmap(m->base, m->bytes);
    free(m);
}

void *ranks_memory_bytes(const ranks_memory *m) {
    return m->base + bytes_at(m->r);
}

/* ---- meeting ---- */

static int all_are_there(void *arg) {
    ranks_memory *m = arg;
    while (m->seen < m->r->size &&
           atomic_load_explicit(&m->places[m->seen].meetings, memory_order_acquire) >= m->meetings)
        m->seen++;
    return m->seen == m->r->size;
}

jf_status ranks_memory_meet(ranks_memory *m) {
    m->meetings++;
    m->seen = 0;
    atomic_store_explicit(&m->places[m->r->rank].meetings, m->meetings, memory_order_release);
    return ranks_wait(m->r, all_are_there, m, "meeting the others");
}

jf_status ranks_memory_sum(ranks_memory *m, double *values, int count) {
    const double *boards[TREE_MOST];
    int side = (int)(m->meetings % 2);
    memcpy(m->places[m->r->rank].board[side], values, (size_t)count * sizeof *values);
    JF_TRY(ranks_memory_meet(m));
    for (int i = 0; i < m->r->size; i++) boards[i] = m->places[i].board[side];
    tree_sum_doubles(values, boards, m->r->size, 0, (size_t)count);
    return JF_OK;
}
