/* A link between two network namespaces that is as slow as it is told: for bench/network, where the kernel
 * cannot add a delay.
 *
 *     relay NAMESPACE_A NAMESPACE_B DEVICE BITS_A_SECOND DELAY_US
 *
 * makes a tun device of that name in both namespaces, says so on standard output, and carries packets between
 * them until standard input ends. A packet leaves when those before it have left at the given rate, and
 * arrives so much later. Its bytes are counted as frames of 1,500 bytes would need them on Ethernet, although
 * the devices take larger ones, so that a processor has little to do. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST = 9216, PLACES = 1024 };
static const double frame = 1538.0 / 1460;
static const double spin = 30e-6; /* seconds that are too short to sleep */

typedef struct packet {
    double due;
    int bytes;
    char data[LARGEST];
} packet;

typedef struct way {
    int from, to;
    double free; /* when the line is */
    unsigned first, end;
    packet *queue; /* (PLACES) */
} way;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int open_device(const char *space, const char *name) {
    char path[256];
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(path, sizeof path, "/var/run/netns/%s", space);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    int entry = open(path, O_RDONLY | O_CLOEXEC);
    if (entry < 0 || setns(entry, CLONE_NEWNET) != 0) fail(path);
    close(entry);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) != 0) fail("/dev/net/tun");
    return fd;
}

/* What does not fit stays with the kernel. */
static void take(way *w, double rate, double delay) {
    while (w->end - w->first < PLACES) {
        packet *p = &w->queue[w->end % PLACES];
        ssize_t bytes = read(w->from, p->data, sizeof p->data);
        if (bytes <= 0) return;
        double t = now();
        if (w->free < t) w->free = t;
        w->free += frame * 8 * (double)bytes / rate;
        p->bytes = (int)bytes;
        p->due = w->free + delay;
        w->end++;
    }
}

/* Returns the seconds until the next one is due, at most one. */
static double give(way *w) {
    for (; w->first != w->end; w->first++) {
        packet *p = &w->queue[w->first % PLACES];
        double left = p->due - now();
        if (left > 0) return left;
        if (write(w->to, p->data, (size_t)p->bytes) < 0 && errno == EAGAIN)
            return 0; /* others are lost: the device is down */
    }
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: relay NAMESPACE_A NAMESPACE_B DEVICE BITS_A_SECOND DELAY_US\n");
        return 2;
    }
    double rate = atof(argv[4]), delay = 1e-6 * atof(argv[5]);
    int a = open_device(argv[1], argv[3]), b = open_device(argv[2], argv[3]);
    way ways[2] = {{.from = a, .to = b}, {.from = b, .to = a}};
    for (int i = 0; i < 2; i++)
        if (!(ways[i].queue = malloc(PLACES * sizeof(packet)))) fail("queue");
    prctl(PR_SET_TIMERSLACK, 1UL);
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}); /* where it is allowed */
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct pollfd wanted[3] = {{.fd = STDIN_FILENO, .events = POLLIN}};
        double left = 1;
        for (int i = 0; i < 2; i++) {
            take(&ways[i], rate, delay);
            double next = give(&ways[i]);
            if (next < left) left = next;
            int full = ways[i].end - ways[i].first == PLACES;
            wanted[1 + i] = (struct pollfd){.fd = ways[i].from, .events = full ? 0 : POLLIN};
        }
        if (left < spin) continue;
        left -= spin;
        struct timespec wait = {(time_t)left, (long)(1e9 * (left - (double)(time_t)left))};
        if (ppoll(wanted, 3, &wait, NULL) < 0 && errno != EINTR) fail("poll");
        if (wanted[0].revents) return 0; /* whoever started it is gone */
    }
}
