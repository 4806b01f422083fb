#include "progress.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Seconds between two lines. */
static const double ON_TERMINAL = 0.1, ELSEWHERE = 5;

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int terminal_width(void) {
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* h:mm:ss */
static const char *clock_text(double seconds, char *out, size_t size) {
    if (!(seconds >= 0 && seconds < 3.6e9)) return "-:--:--";
    long s = (long)seconds;
    snprintf(out, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    return out;
}

/* "  loss 1.2 = z 2.8 + y 0.1 + logdet -1.7, y error 0.001": the loss, its parts, what is watched beside
 * them. */
static void describe_terms(const jf_training *now, char *out, size_t size) {
    size_t used = 0;
    int parts = 0;
    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < now->term_count && used < size; i++) {
            const jf_term *t = &now->terms[i];
            if ((i == 0 ? 0 : t->part ? 1 : 2) != pass) continue;
            const char *before = pass == 0 ? "  " : pass == 2 ? ", " : parts++ ? " + " : " = ";
            const char *format = fabs(t->value) < 1e6 ? "%s%s %.4f" : "%s%s %.3e"; /* so that all fit */
            used += (size_t)snprintf(out + used, size - used, format, before, t->name, t->value);
        }
    for (; *out; out++)
        if (*out == '_') *out = ' ';
}

/* What matters most comes first: a narrow terminal cuts the end off. */
static void describe(const progress *p, const jf_training *now, char *out, size_t size) {
    char spent[32], left[32], terms[160] = "", ks[32] = "", speed[32] = "", held[64] = "";
    if (isfinite(now->held_out))
        snprintf(held, sizeof held, "  held out %.4f (best %.4f, epoch %lld)", now->held_out, now->best,
                 (long long)now->best_epoch);
    if (!isnan(now->ks_max)) snprintf(ks, sizeof ks, ", latent KS %.4f", now->ks_max);
    if (p->batch && now->seconds > 0)
        snprintf(speed, sizeof speed, ", %.0f samples/s", (double)now->step * p->batch / now->seconds);
    describe_terms(now, terms, sizeof terms);
    snprintf(out, size, "%s %lld/%lld  %s, %s left%s%s%s%s", now->phase, (long long)now->epoch,
             (long long)now->epochs, clock_text(now->seconds, spent, sizeof spent),
             clock_text(now->seconds_left, left, sizeof left), held, terms, ks, speed);
}

void progress_begin(progress *p, int quiet, int batch, const volatile int *stop) {
    *p = (progress){.quiet = quiet,
                    .terminal = isatty(STDOUT_FILENO),
                    .batch = batch,
                    .stop = stop,
                    .shown_at = now_seconds()};
}

static void rewrite_line(progress *p, const jf_training *now) {
    double t = now_seconds();
    int stopping = p->stop && *p->stop;
    if (p->line_open && t - p->shown_at < ON_TERMINAL && !stopping) return;
    char line[256];
    describe(p, now, line, sizeof line);
    printf("\r%.*s\033[K", terminal_width() - 1, stopping ? "stopping after this batch ..." : line);
    fflush(stdout);
    p->line_open = 1;
    p->shown_at = t;
}

static void show_last(progress *p) {
    if (!p->last[0]) return;
    puts(p->last);
    fflush(stdout);
    p->last[0] = 0;
    p->shown_at = now_seconds();
}

static void add_line(progress *p, const jf_training *now) {
    if (strcmp(p->phase, now->phase) != 0) show_last(p); /* every phase shows its last epoch */
    if (!now->epoch_ended) return;
    snprintf(p->phase, sizeof p->phase, "%s", now->phase);
    describe(p, now, p->last, sizeof p->last);
    if (now_seconds() - p->shown_at >= ELSEWHERE) show_last(p);
}

static void show(progress *p, const jf_training *now) {
    if (p->terminal)
        rewrite_line(p, now);
    else
        add_line(p, now);
    if (p->terminal && now->epoch_ended) describe(p, now, p->last, sizeof p->last);
}

/* Of what is not training nobody waits long enough for a line. */
int progress_show(void *user, const jf_progress *now) {
    progress *p = user;
    if (!p->quiet && now->training) show(p, now->training);
    return p->stop && *p->stop;
}

/* Leaves the line that is being rewritten, with the last whole epoch in it. */
static void close_line(progress *p) {
    if (p->line_open) printf("\r\033[K");
    p->line_open = 0;
    show_last(p);
}

/* Warnings are said in any case, and to standard error. */
void progress_note(void *user, const char *line) {
    progress *p = user;
    int warning = strncmp(line, JF_WARNING, strlen(JF_WARNING)) == 0;
    if (p->quiet && !warning) return;
    if (p->line_open) printf("\r\033[K");
    p->line_open = 0;
    if (!warning) puts(line);
    fflush(stdout);
    if (warning) fprintf(stderr, "jointflow: %s\n", line);
}

void progress_end(progress *p) {
    if (!p->quiet) close_line(p);
}
