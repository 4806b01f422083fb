#include "stop.h"
#include <signal.h>
#include <stddef.h>

static const int stopping_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof stopping_signals / sizeof *stopping_signals };

/* The one variable of the program that is not local: a signal handler can reach nothing else. */
static volatile sig_atomic_t stop_wanted;
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

static void on_signal(int number) {
    (void)number;
    stop_wanted = 1;
    set_all(SIG_DFL);
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
