#include "base/process_lock.h"
#include <unistd.h>

void process_lock_init(process_lock *l) {
    pthread_mutex_init(&l->mutex, NULL);
    atomic_init(&l->process, getpid());
}

void process_lock_destroy(process_lock *l) {
    if (atomic_load(&l->process) == getpid()) pthread_mutex_destroy(&l->mutex);
}

/* In a forked child the first thread that comes makes the mutex anew, while others wait for it. */
void process_lock_take(process_lock *l) {
    int self = getpid(), owner;
    while ((owner = atomic_load(&l->process)) != self) {
        if (owner == 0 || !atomic_compare_exchange_strong(&l->process, &owner, 0)) continue;
        pthread_mutex_init(&l->mutex, NULL);
        atomic_store(&l->process, self);
    }
    pthread_mutex_lock(&l->mutex);
}

void process_lock_release(process_lock *l) {
    pthread_mutex_unlock(&l->mutex);
}
