/* Public: whether two samples have the same distribution. */
#include "api/api.h"
#include "two_sample/two_sample.h"

jf_status jf_compare(jf_comparison *out, jf_context *ctx, const jf_table *a, const jf_table *b,
                     const jf_compare_options *options) {
    JF_NEEDS(ctx, out, ctx, a, b);
    if (a->rows && b->rows) JF_NEEDS(ctx, a->values, b->values);
    jf_compare_options o;
    jf_comparison made = {0};
    JF_TRY(SIZED_BEGIN(ctx, jf_comparison, out));
    JF_TRY(SIZED_TAKE(ctx, jf_compare_options, &o, options));
    JF_TRY(compare_tables(ctx, a, b, &o, &made));
    SIZED_GIVE(jf_comparison, out, &made);
    return JF_OK;
}
