/* Work on rows that is cut among the ranks. */
#include "base/memory.h"
#include "ranks/private.h"
#include <stdlib.h>

/* Rows of pieces `unit` long; the last may be shorter. */
static ranks_share rows_of(const ranks *r, int rank, size_t n, size_t unit) {
    ranks_share pieces = ranks_share_of_rank(r, rank, (n + unit - 1) / unit);
    size_t begin = pieces.begin * unit, end = pieces.end * unit;
    return (ranks_share){begin < n ? begin : n, end < n ? end : n};
}

static jf_status gather_rows(ranks *r, size_t n, size_t unit, const ranks_rows *rows, size_t *counts) {
    char *base = rows->base;
    for (int i = 0; i < r->size; i++) {
        ranks_share part = rows_of(r, i, n, unit);
        counts[i] = (part.end - part.begin) * rows->bytes;
    }
    return ranks_gather_parts(r, base + rows_of(r, r->rank, n, unit).begin * rows->bytes, counts, base);
}

jf_status ranks_divide(ranks *r, size_t n, size_t unit, ranks_work work, void *arg, const ranks_rows *rows,
                       int count) {
    ranks_share mine = rows_of(r, r->rank, n, unit);
    size_t *counts = NULL;
    if (r->size == 1) return work(arg, 0, n);
    jf_status status = mine.begin < mine.end ? work(arg, mine.begin, mine.end) : JF_OK;
    if (status == JF_OK) status = MEM_NEW(r->ctx, &counts, (size_t)r->size);
    status = ranks_agree(r, status);
    for (int i = 0; i < count && status == JF_OK; i++)
        if (rows[i].base) status = gather_rows(r, n, unit, &rows[i], counts);
    free(counts);
    return status;
}
