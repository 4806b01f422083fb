#include "api/api.h"

jf_status give_text(jf_context *ctx, char **out, text *t, jf_status status) {
    if (status == JF_OK) text_add(t, "%s", ""); /* nothing is a text, too */
    if (status == JF_OK) status = text_check(ctx, t);
    if (status == JF_OK)
        *out = t->chars;
    else
        text_free(t);
    return status;
}
