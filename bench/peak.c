/* What the processors can do at most: multiply-adds on registers, nothing else. Prints GFLOP/s.
 *
 *     gcc -O3 -march=native -pthread bench/peak.c -o peak && ./peak THREADS
 *
 * Each thread runs CHAINS independent chains a = a m + c of the widest vectors that the compiler has here:
 * enough of them to hide the latency of one, few enough to stay in registers. All threads start a window
 * together and it lasts until the last has ended; the best window of many counts, as the machine may be
 * shared. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined __AVX512F__
#define LANES 16
#elif defined __AVX__
#define LANES 8
#else
#define LANES 4
#endif
#define CHAINS       12
#define ROUNDS       1000000 /* of all chains in a window: some milliseconds */
#define WINDOWS      20
#define MOST_THREADS 256

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));

static pthread_barrier_t barrier;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Tends to 1 in every lane, whatever it starts with: no overflow and no denormals. */
static float multiply_adds(float start) {
    const vector m = (vector){0} + 0.999f, c = (vector){0} + 0.001f;
    vector a[CHAINS], sum = {0};
    for (int i = 0; i < CHAINS; i++) a[i] = (vector){0} + (start + (float)i);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CHAINS; i++) a[i] = a[i] * m + c;
    for (int i = 0; i < CHAINS; i++) sum += a[i];
    return sum[0];
}

typedef struct result {
    double seconds; /* of the best window */
    float sum;      /* so that the arithmetic has a use */
} result;

static void *work(void *data) {
    result *r = data;
    for (int window = 0; window < WINDOWS; window++) {
        pthread_barrier_wait(&barrier);
        double start = now();
        r->sum += multiply_adds((float)window);
        pthread_barrier_wait(&barrier);
        double took = now() - start;
        if (window == 0 || took < r->seconds) r->seconds = took;
    }
    return NULL;
}

int main(int count, char **words) {
    int threads = count == 2 ? atoi(words[1]) : 0;
    if (threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: %s THREADS, 1 to %d\n", words[0], MOST_THREADS);
        return 2;
    }
    pthread_t others[MOST_THREADS];
    result results[MOST_THREADS] = {0};
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, work, &results[i])) {
            fprintf(stderr, "%s: no thread to be had\n", words[0]);
            return 1;
        }
    work(&results[0]);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
    printf("%.1f\n", 2e-9 * threads * LANES * CHAINS * ROUNDS / results[0].seconds);
    return 0;
}
