/* Public: several processes. */
#include "api/api.h"
#include "base/number.h"
#include "io/checksum.h"
#include "ranks/ranks.h"
#include <stdlib.h>

/* The version, and a checksum of the program or library that this code is a part of: of one version there are
 * many builds. */
static void name_build(jf_context *ctx, char *out, size_t size) {
    char sum[CHECKSUM_TEXT] = "unknown", *path;
    void *bytes;
    size_t count;
    if (file_of_code(ctx, &path) == JF_OK && path && file_map(ctx, &bytes, &count, path) == JF_OK) {
        checksum_text(sum, checksum_add(checksum_start(), bytes, count));
        file_unmap(bytes, count);
    }
    free(path);
    format_text(out, size, "%s, build %s", JF_VERSION, sum);
}

jf_status jf_ranks_join(jf_context *ctx, const jf_ranks_options *options) {
    JF_NEEDS(ctx, ctx);
    jf_ranks_options o;
    char build[96];
    JF_TRY(SIZED_TAKE(ctx, jf_ranks_options, &o, options));
    if (o.ranks < 0) return jf_fail(ctx, JF_ERROR_ARGUMENT, "%d ranks, expected 0 or more", o.ranks);
    if (!(o.limit >= 0)) return jf_fail(ctx, JF_ERROR_ARGUMENT, "ranks: a limit of %g seconds", o.limit);
    JF_TRY(ranks_join(ctx, o.ranks, o.limit));
    if (ranks_size(ranks_of(ctx)) == 1) return JF_OK;
    name_build(ctx, build, sizeof build);
    return ranks_same(ranks_of(ctx), "version of the program", build);
}

int jf_ranks_rank(const jf_context *ctx) {
    return ranks_rank(ranks_of((jf_context *)ctx));
}

int jf_ranks_size(const jf_context *ctx) {
    return ranks_size(ranks_of((jf_context *)ctx));
}

int jf_ranks_have_failed(const jf_context *ctx) {
    return ranks_have_failed(ranks_of((jf_context *)ctx));
}

jf_status jf_ranks_set_apart(jf_context *ctx, int apart) {
    JF_NEEDS(ctx, ctx);
    return ranks_set_apart(ctx, apart);
}

jf_status jf_ranks_take(jf_context *ctx, uint64_t *number) {
    JF_NEEDS(ctx, ctx, number);
    return ranks_take(ctx, number);
}

jf_status jf_ranks_sum(jf_context *ctx, double *values, size_t count) {
    JF_NEEDS(ctx, ctx);
    if (!values && count > 0) return jf_fail(ctx, JF_ERROR_ARGUMENT, "ranks: there are no values to sum");
    return ranks_sum_doubles(ranks_of(ctx), values, count);
}

jf_status jf_ranks_same(jf_context *ctx, const char *what, const char *mine) {
    JF_NEEDS(ctx, ctx, what, mine);
    return ranks_same(ranks_of(ctx), what, mine);
}

void jf_ranks_end(jf_context *ctx, int status) {
    ranks_end(ranks_of(ctx), status);
}
