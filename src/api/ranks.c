/* Public: several processes. */
#include "ranks/ranks.h"
#include "api/api.h"

jf_status jf_ranks_join(jf_context *ctx, const jf_ranks_options *options) {
    jf_ranks_options o;
    JF_TRY(SIZED_TAKE(ctx, jf_ranks_options, &o, options));
    if (o.ranks < 0) return jf_fail(ctx, JF_ERROR_ARGUMENT, "%d ranks, expected 0 or more", o.ranks);
    if (!(o.limit >= 0)) return jf_fail(ctx, JF_ERROR_ARGUMENT, "ranks: a limit of %g seconds", o.limit);
    return ranks_join(ctx, o.ranks, o.limit);
}

int jf_ranks_rank(const jf_context *ctx) {
    return ranks_rank(ranks_of((jf_context *)ctx));
}

int jf_ranks_size(const jf_context *ctx) {
    return ranks_size(ranks_of((jf_context *)ctx));
}

void jf_ranks_end(jf_context *ctx, int status) {
    ranks_end(ranks_of(ctx), status);
}
