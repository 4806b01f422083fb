#include "train/checkpoint_store.h"
#include "base/file.h"
#include "base/memory.h"
#include "train/run_folder.h"
#include <stdlib.h>

jf_status checkpoint_store_create(jf_context *ctx, checkpoint_store *g, const char *folder) {
    JF_TRY(file_join(ctx, &g->newest, folder, RUN_CHECKPOINT));
    JF_TRY(file_join(ctx, &g->previous, folder, RUN_CHECKPOINT_PREVIOUS));
    return file_join(ctx, &g->next, folder, RUN_CHECKPOINT_NEXT);
}

void checkpoint_store_free(checkpoint_store *g) {
    free(g->newest);
    free(g->previous);
    free(g->next);
    *g = (checkpoint_store){0};
}

jf_status checkpoint_store_save(checkpoint_store *g, const model *m, const optimiser *o, const real *best,
                                const epoch_start *start, const train_state *s) {
    JF_TRY(checkpoint_save(g->next, m, o, best, start, s, &g->data));
    if (!g->newest_unusable && file_exists(g->newest)) JF_TRY(file_duplicate(m->ctx, g->newest, g->previous));
    JF_TRY(file_rename(m->ctx, g->next, g->newest));
    g->newest_unusable = 0;
    return JF_OK;
}

jf_status checkpoint_store_check_recipe(const checkpoint_store *g, const recipe *r) {
    int unusable;
    jf_status status = checkpoint_check_recipe(g->newest, r, &unusable);
    if (status != JF_OK && unusable) status = checkpoint_check_recipe(g->previous, r, &unusable);
    return status != JF_OK && unusable ? JF_OK : status; /* loading will tell what is wrong with both */
}

/* Where neither can be used: what is wrong with the newest, and with the other. */
static jf_status fail_both(jf_context *ctx, jf_status status, const char *newest) {
    char *previous;
    JF_TRY(mem_copy_text(ctx, &previous, jf_context_error(ctx)));
    status = jf_fail(ctx, status, "%s; the one before it cannot be used either: %s", newest, previous);
    free(previous);
    return status;
}

static jf_status load_previous(checkpoint_store *g, model *m, optimiser *o, real *best, epoch_start *start,
                               train_state *s, jf_status failure, const char *newest) {
    int unusable;
    jf_status status = checkpoint_load(g->previous, m, o, best, start, s, &g->data, &unusable);
    if (status != JF_OK) return unusable ? fail_both(m->ctx, failure, newest) : status;
    jf_warn(m->ctx, "%s; going on from the one before it, %s, after %.0f epochs", newest, g->previous,
            s->total_epoch);
    g->newest_unusable = 1;
    return JF_OK;
}

jf_status checkpoint_store_load(checkpoint_store *g, model *m, optimiser *o, real *best, epoch_start *start,
                                train_state *s) {
    int unusable, has_previous = file_exists(g->previous);
    char *newest;
    jf_status status = checkpoint_load(g->newest, m, o, best, start, s, &g->data, &unusable);
    if (status == JF_OK || !unusable || !has_previous) return status;
    JF_TRY(mem_copy_text(m->ctx, &newest, jf_context_error(m->ctx)));
    status = load_previous(g, m, o, best, start, s, status, newest);
    free(newest);
    return status;
}
