#include "api/api.h"
#include <math.h>

jf_status give_text(jf_context *ctx, char **out, text *t, jf_status status) {
    if (status == JF_OK) text_add(t, "%s", ""); /* nothing is a text, too */
    if (status == JF_OK) status = text_check(ctx, t);
    if (status == JF_OK)
        *out = t->chars;
    else
        text_free(t);
    return status;
}

jf_status take_use_options(jf_context *ctx, jf_use_options *to, const jf_use_options *options) {
    JF_TRY(SIZED_TAKE(ctx, jf_use_options, to, options));
    if (!(to->temperature >= 0) || isinf(to->temperature))
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "temperature: found %g, expected a finite number from 0 on",
                       to->temperature);
    if (to->zero_temperature && to->temperature != 0)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "temperature: found %g with zero_temperature, expected 0",
                       to->temperature);
    if (!to->zero_temperature && to->temperature == 0) to->temperature = 1;
    return JF_OK;
}
