/* Runs the command in a process group of its own, feeds it and listens at the same time, so that neither side
 * waits for the other, and ends the whole group when its time is over or it writes more than it should. */
#include "simulator.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NUMBER_ROOM = 64, SHOWN = 60 }; /* characters that a number may take; of a line that is shown */

static int give_up(simulator *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int give_up(simulator *s, const char *format, ...) {
    va_list values;
    int used = snprintf(s->problem, sizeof s->problem, "--simulator \"%.100s\": ", s->command);
    va_start(values, format);
    vsnprintf(s->problem + used, sizeof s->problem - (size_t)used, format, values);
    va_end(values);
    return -1;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the process ---- */

typedef struct child {
    pid_t pid;
    int in, out; /* its standard input and output; -1: closed */
    double end;  /* when its time is over */
} child;

static void close_end(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void become_command(const char *line, const int in[2], const int out[2]) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* nobody would read what it writes */
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
    }
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

static int start(simulator *s, child *c) {
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    *c = (child){.pid = -1, .in = -1, .out = -1, .end = now() + s->timeout};
    if (pipe(in) == 0 && pipe(out) == 0) c->pid = fork();
    if (c->pid == 0) become_command(s->command, in, out);
    int failed = c->pid < 0 ? errno : 0;
    if (c->pid > 0) setpgid(c->pid, c->pid); /* whichever of the two comes first */
    close_end(&in[0]);
    close_end(&out[1]);
    c->in = in[1];
    c->out = out[0];
    if (failed) return give_up(s, "could not be started: %s", strerror(failed));
    fcntl(c->in, F_SETFL, O_NONBLOCK);
    fcntl(c->out, F_SETFL, O_NONBLOCK);
    return 0;
}

static int give_up_waiting(simulator *s) {
    return give_up(s, "did not end within %g s, and was ended; --simulator-timeout gives it more",
                   s->timeout);
}

/* Ends all of it, at once or when its time is over: it may have closed its output and go on. Returns whether
 * that was needed; status: as waitpid() has it. */
static int finish(child *c, int at_once, int *status) {
    const struct timespec pause = {.tv_nsec = 5000000};
    int late = 0;
    close_end(&c->in);
    close_end(&c->out);
    if (at_once) kill(-c->pid, SIGKILL);
    while (waitpid(c->pid, status, WNOHANG) == 0) {
        if (!late && now() > c->end) {
            late = 1;
            kill(-c->pid, SIGKILL);
        }
        nanosleep(&pause, NULL);
    }
    return late;
}

/* ---- what it is told and what it says ---- */

typedef struct words {
    char *chars;
    size_t used, size;
} words;

static void write_rows(words *w, size_t n, int dim, const double *x) {
    for (size_t i = 0; i < n * (size_t)dim; i++)
        w->used += (size_t)snprintf(w->chars + w->used, w->size - w->used, "%.17g%c", x[i],
                                    (i + 1) % (size_t)dim ? ',' : '\n');
}

/* Some of `told` to the child; it may close its input early, which is its own affair. */
static void feed(child *c, const words *told, size_t *sent) {
    ssize_t done = write(c->in, told->chars + *sent, told->used - *sent);
    if (done > 0) *sent += (size_t)done;
    if ((done < 0 && errno != EAGAIN && errno != EINTR) || *sent == told->used) close_end(&c->in);
}

/* Returns 0 at the end of what it says. */
static int listen_to(const child *c, words *said) {
    ssize_t done = read(c->out, said->chars + said->used, said->size - said->used);
    if (done > 0) said->used += (size_t)done;
    return done > 0 || (done < 0 && (errno == EAGAIN || errno == EINTR));
}

static int talk(simulator *s, child *c, const words *told, words *said) {
    size_t sent = 0;
    for (;;) {
        struct pollfd ends[2] = {{.fd = c->out, .events = POLLIN}, {.fd = c->in, .events = POLLOUT}};
        double left = c->end - now();
        if (left <= 0) return give_up_waiting(s);
        poll(ends, 2, left > 1 ? 1000 : (int)(1000 * left) + 1);
        if (c->in >= 0 && ends[1].revents) feed(c, told, &sent);
        if (!ends[0].revents) continue;
        if (said->used == said->size)
            return give_up(s, "wrote more than %zu bytes, which is too much", said->size);
        if (!listen_to(c, said)) return 0;
    }
}

/* ---- reading ---- */

/* A line of exactly `dim` numbers; 0 where it is none. */
static int read_row(const char *line, int dim, double *y) {
    for (int k = 0; k < dim; k++) {
        char *end;
        y[k] = strtod(line, &end);
        if (end == line || !isfinite(y[k])) return 0;
        while (*end == ' ' || *end == '\t') end++;
        if (*end == ',' && k + 1 < dim) end++;
        line = end;
    }
    while (isspace((unsigned char)*line)) line++;
    return !*line;
}

static int read_rows(simulator *s, size_t n, char *text, double *y) {
    size_t rows = 0, number = 0;
    for (char *line = text, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) *next++ = '\0';
        number++;
        if (!line[strspn(line, " \t\r")]) continue; /* empty */
        if (rows == n)
            return give_up(s, "line %zu: found more than the %zu rows that were asked for", number, n);
        if (!read_row(line, s->dim_y, y + rows * (size_t)s->dim_y))
            return give_up(s, "line %zu: found \"%.*s\", expected %d number%s separated by commas", number,
                           SHOWN, line, s->dim_y, s->dim_y == 1 ? "" : "s");
        rows++;
    }
    return rows == n ? 0 : give_up(s, "found %zu rows, expected %zu, one for each row of x", rows, n);
}

/* ---- all of it ---- */

static int check_end(simulator *s, int status) {
    if (WIFSIGNALED(status)) return give_up(s, "was ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) == 127) return give_up(s, "exit status 127: the command was not found");
    return WEXITSTATUS(status) ? give_up(s, "exit status %d, expected 0", WEXITSTATUS(status)) : 0;
}

int simulator_run(void *user, size_t n, const double *x, double *y) {
    simulator *s = user;
    child c;
    words told = {.size = n * (size_t)s->dim_x * NUMBER_ROOM + 1},
          said = {.size = (n + 1) * (size_t)s->dim_y * NUMBER_ROOM};
    told.chars = malloc(told.size);
    said.chars = malloc(said.size + 1);
    int code = told.chars && said.chars ? 0 : give_up(s, "not enough memory");
    if (code == 0) write_rows(&told, n, s->dim_x, x);
    if (code == 0) code = start(s, &c);
    if (code == 0) {
        code = talk(s, &c, &told, &said);
        int status = 0, late = finish(&c, code != 0, &status);
        if (code == 0) code = late ? give_up_waiting(s) : check_end(s, status);
        said.chars[said.used] = '\0';
        if (code == 0) code = read_rows(s, n, said.chars, y);
    }
    free(told.chars);
    free(said.chars);
    return code;
}
