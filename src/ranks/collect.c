/* Sums, broadcasts and gathers, made of exchanges between two ranks.
 *
 * A sum has one order, that of a binary tree over the ranks, whichever way the numbers travel: few go whole
 * to the partner at distance 1, 2, 4, ...; of many each pair halves what it has, so that no number is sent
 * more than twice (2 count (size-1)/size in all), and the halves return the same way. Ranks beyond the
 * largest power of two give their numbers to a partner first. */
#include "base/memory.h"
#include "ranks/private.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE_BYTES                                                                                          \
    16384 /* up to so many bytes of a sum travel whole: there a message costs more than its bytes */

typedef struct number_kind {
    size_t bytes;
    void (*add)(void *to, const void *from, size_t count);
} number_kind;

static void add_floats(void *to, const void *from, size_t count) {
    float *restrict a = to;
    const float *restrict b = from;
    for (size_t i = 0; i < count; i++) a[i] += b[i];
}
static void add_doubles(void *to, const void *from, size_t count) {
    double *restrict a = to;
    const double *restrict b = from;
    for (size_t i = 0; i < count; i++) a[i] += b[i];
}
static const number_kind floats = {sizeof(float), add_floats}, doubles = {sizeof(double), add_doubles};

/* The largest power of two up to `size`. */
static int power_up_to(int size) {
    int power = 1;
    while (power <= size / 2) power *= 2;
    return power;
}

static jf_status send_to(ranks *r, const void *bytes, size_t count, int to) {
    return ranks_exchange(r, &(ranks_transfer){.out = bytes, .out_bytes = count, .to = to});
}
static jf_status receive_from(ranks *r, void *bytes, size_t count, int from) {
    return ranks_exchange(r, &(ranks_transfer){.in = bytes, .in_bytes = count, .from = from});
}

/* ---- sums ---- */

static jf_status add_whole(ranks *r, const number_kind *k, void *values, size_t count, int power) {
    size_t bytes = count * k->bytes;
    for (int distance = 1; distance < power; distance *= 2) {
        int partner = r->rank ^ distance;
        JF_TRY(ranks_exchange(r, &(ranks_transfer){values, r->room, bytes, bytes, partner, partner}));
        k->add(values, r->room, count);
    }
    return JF_OK;
}

typedef struct range {
    size_t begin, end;
} range;

/* The half of a range that this rank keeps in the exchange at a distance, and the one that its partner does.
 */
static range half_of(range whole, int upper) {
    size_t middle = whole.begin + (whole.end - whole.begin) / 2;
    return upper ? (range){middle, whole.end} : (range){whole.begin, middle};
}

static jf_status add_by_halves(ranks *r, const number_kind *k, void *values, size_t count, int power) {
    char *base = values;
    range owned[32]; /* before each exchange */
    int depth = 0;
    owned[0] = (range){0, count};
    for (int distance = 1; distance < power; distance *= 2, depth++) {
        int partner = r->rank ^ distance, upper = (r->rank & distance) != 0;
        range mine = half_of(owned[depth], upper), theirs = half_of(owned[depth], !upper);
        JF_TRY(ranks_exchange(r, &(ranks_transfer){.out = base + theirs.begin * k->bytes,
                                                   .out_bytes = (theirs.end - theirs.begin) * k->bytes,
                                                   .in = r->room,
                                                   .in_bytes = (mine.end - mine.begin) * k->bytes,
                                                   .to = partner,
                                                   .from = partner}));
        k->add(base + mine.begin * k->bytes, r->room, mine.end - mine.begin);
        owned[depth + 1] = mine;
    }
    for (int distance = power / 2; distance > 0; distance /= 2, depth--) {
        int partner = r->rank ^ distance, upper = (r->rank & distance) != 0;
        range mine = owned[depth], theirs = half_of(owned[depth - 1], !upper);
        JF_TRY(ranks_exchange(r, &(ranks_transfer){.out = base + mine.begin * k->bytes,
                                                   .out_bytes = (mine.end - mine.begin) * k->bytes,
                                                   .in = base + theirs.begin * k->bytes,
                                                   .in_bytes = (theirs.end - theirs.begin) * k->bytes,
                                                   .to = partner,
                                                   .from = partner}));
    }
    return JF_OK;
}

static jf_status sum(ranks *r, const number_kind *k, void *values, size_t count) {
    size_t bytes = count * k->bytes;
    int power = power_up_to(r->size), beyond = r->rank >= power, paired = r->rank + power < r->size;
    if (r->size == 1 || count == 0) return JF_OK;
    JF_TRY(ranks_room(r, bytes <= WHOLE_BYTES || paired ? bytes : (count / 2 + 1) * k->bytes));
    if (beyond) {
        JF_TRY(send_to(r, values, bytes, r->rank - power));
        return receive_from(r, values, bytes, r->rank - power);
    }
    if (paired) {
        JF_TRY(receive_from(r, r->room, bytes, r->rank + power));
        k->add(values, r->room, count);
    }
    JF_TRY((bytes <= WHOLE_BYTES ? add_whole : add_by_halves)(r, k, values, count, power));
    return paired ? send_to(r, values, bytes, r->rank + power) : JF_OK;
}

jf_status ranks_sum_floats(ranks *r, float *values, size_t count) {
    return sum(r, &floats, values, count);
}
jf_status ranks_sum_doubles(ranks *r, double *values, size_t count) {
    return sum(r, &doubles, values, count);
}

/* ---- bytes ---- */

/* Along a tree: whoever has them gives them to the rank at half the distance. */
jf_status ranks_broadcast(ranks *r, void *bytes, size_t count, int from) {
    int place = (r->rank - from + r->size) % r->size, distance = 1;
    if (r->size == 1) return JF_OK;
    for (; distance < r->size; distance *= 2)
        if (place & distance) {
            JF_TRY(receive_from(r, bytes, count, (r->rank - distance + r->size) % r->size));
            break;
        }
    for (distance /= 2; distance > 0; distance /= 2)
        if (place + distance < r->size) JF_TRY(send_to(r, bytes, count, (r->rank + distance) % r->size));
    return JF_OK;
}

/* Around the ring: each passes on what came last. */
jf_status ranks_gather_parts(ranks *r, const void *mine, const size_t *counts, void *all) {
    int next = (r->rank + 1) % r->size, before = (r->rank + r->size - 1) % r->size, sent = r->rank;
    size_t *begins;
    char *base = all;
    jf_status status = JF_OK;
    if (r->size == 1) {
        memmove(all, mine, counts[0]);
        return JF_OK;
    }
    JF_TRY(MEM_NEW(r->ctx, &begins, (size_t)r->size));
    for (int i = 1; i < r->size; i++) begins[i] = begins[i - 1] + counts[i - 1];
    memmove(base + begins[sent], mine, counts[sent]);
    for (int i = 1; i < r->size && status == JF_OK; i++) {
        int came = (sent + r->size - 1) % r->size;
        status = ranks_exchange(r, &(ranks_transfer){.out = base + begins[sent],
                                                     .out_bytes = counts[sent],
                                                     .in = base + begins[came],
                                                     .in_bytes = counts[came],
                                                     .to = next,
                                                     .from = before});
        sent = came;
    }
    free(begins);
    return status;
}

jf_status ranks_gather(ranks *r, const void *mine, size_t count, void *all) {
    size_t *counts;
    JF_TRY(MEM_NEW(r->ctx, &counts, (size_t)r->size));
    for (int i = 0; i < r->size; i++) counts[i] = count;
    jf_status status = ranks_gather_parts(r, mine, counts, all);
    free(counts);
    return status;
}

jf_status ranks_barrier(ranks *r) {
    double none = 0;
    return ranks_sum_doubles(r, &none, 1);
}

/* ---- agreement ---- */

typedef struct outcome {
    int32_t status;
    char why[508];
} outcome;

jf_status ranks_agree(ranks *r, jf_status mine) {
    outcome own = {.status = (int32_t)mine}, *all;
    if (r->size == 1) return mine;
    if (mine != JF_OK) snprintf(own.why, sizeof own.why, "%s", jf_context_error(r->ctx));
    JF_TRY(MEM_NEW(r->ctx, &all, (size_t)r->size));
    jf_status status = ranks_gather(r, &own, sizeof own, all);
    for (int i = 0; i < r->size && status == JF_OK; i++) {
        status = (jf_status)all[i].status;
        if (status == JF_OK) continue;
        r->agreed = 1;
        if (i == 0)
            jf_fail(r->ctx, status, "%s", all[i].why);
        else
            jf_fail(r->ctx, status, "rank %d: %s", i, all[i].why);
    }
    free(all);
    return status;
}

/* The line of two texts in which they differ first, cut to what fits into a message. */
static void first_difference(const char *a, const char *b, char of_a[160], char of_b[160]) {
    const char *line_a = a, *line_b = b;
    for (; *a && *a == *b; a++, b++)
        if (*a == '\n') {
            line_a = a + 1;
            line_b = b + 1;
        }
    snprintf(of_a, 160, "%.*s", (int)strcspn(line_a, "\n"), line_a);
    snprintf(of_b, 160, "%.*s", (int)strcspn(line_b, "\n"), line_b);
}

jf_status ranks_same(ranks *r, const char *what, const char *mine) {
    char *first = NULL, here[160], there[160];
    uint64_t length = strlen(mine) + 1;
    jf_status status;
    if (r->size == 1) return JF_OK;
    JF_TRY(ranks_broadcast(r, &length, sizeof length, 0));
    JF_TRY(MEM_NEW(r->ctx, &first, (size_t)length));
    if (r->rank == 0) memcpy(first, mine, (size_t)length);
    status = ranks_broadcast(r, first, (size_t)length, 0);
    if (status == JF_OK) {
        if (strcmp(first, mine) != 0) {
            first_difference(mine, first, here, there);
            status = jf_fail(r->ctx, JF_ERROR_RANK, "another %s than rank 0: \"%s\", there \"%s\"", what,
                             here, there);
        }
        status = ranks_agree(r, status);
    }
    free(first);
    return status;
}
