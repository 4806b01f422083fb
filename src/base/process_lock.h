/* A lock for what threads of one process share, in a forked child, too. */
#ifndef JF_BASE_PROCESS_LOCK_H
#define JF_BASE_PROCESS_LOCK_H

#include <pthread.h>
#include <stdatomic.h>

/* A mutex that is free in a forked child, whoever held it at the fork. */
typedef struct process_lock {
    pthread_mutex_t mutex;
    atomic_int process; /* whose mutex it is; 0: it is being made anew */
} process_lock;
void process_lock_init(process_lock *l);
void process_lock_destroy(process_lock *l);
void process_lock_take(process_lock *l);
void process_lock_release(process_lock *l);

#endif
