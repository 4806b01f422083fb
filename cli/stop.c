#include "stop.h"
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static const int stopping_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof stopping_signals / sizeof *stopping_signals };

/* timeout(1) sends a signal to the program and to its group, schedulers to a job and to its steps, and a
   session that ends sends SIGHUP and SIGTERM: what arrives within this time is one request, or the second
   half of it would end a program that is about to save. */
#define ONE_REQUEST_MS 1000

/* The only variables of the program that are not local: a signal handler can reach nothing else. */
static volatile sig_atomic_t stop_wanted;
static atomic_llong first_request_ms; /* 0: none yet */
_Static_assert(_Generic((sig_atomic_t)0, int : 1, default : 0), "the library looks at an int");

static void set_all(void (*handler)(int)) {
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction before, wanted = {.sa_handler = handler, .sa_flags = SA_RESTART};
        sigemptyset(&wanted.sa_mask);
        /* nohup and shells that run a job in the background have reasons to ignore a signal */
        if (sigaction(stopping_signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(stopping_signals[i], &wanted, NULL);
    }
}

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000 + 1; /* never 0 */
}

/* May run in several threads at once. */
static void on_signal(int number) {
    long long now = now_ms(), first = 0;
    if (atomic_compare_exchange_strong(&first_request_ms, &first, now)) {
        stop_wanted = 1;
    } else if (now - first >= ONE_REQUEST_MS) {
        set_all(SIG_DFL);
        raise(number); /* delivered when this returns */
    }
}

const volatile int *stop_on_signals(void) {
    set_all(on_signal);
    return &stop_wanted;
}

void stop_ignore(void) {
    set_all(SIG_IGN);
}

void stop_end(void) {
    set_all(SIG_DFL);
}
