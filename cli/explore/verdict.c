#include "verdict.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct verdict {
    jf_context *ctx;
    const jf_model *m;
    const jf_cascade *cascade;
    pthread_mutex_t lock;
    verdict_state state;
    jf_judgement *judgement;
    pthread_t thread;
    int has_thread;
    char why[512];
};

verdict *verdict_create(jf_context *ctx, const jf_model *m, const jf_cascade *cascade) {
    verdict *v = calloc(1, sizeof *v);
    if (!v) return NULL;
    v->ctx = ctx;
    v->m = m;
    v->cascade = cascade;
    pthread_mutex_init(&v->lock, NULL);
    return v;
}

static verdict_state state_of(verdict *v) {
    pthread_mutex_lock(&v->lock);
    verdict_state state = v->state;
    pthread_mutex_unlock(&v->lock);
    return state;
}

int verdict_free(verdict *v) {
    if (!v) return 1;
    if (state_of(v) == VERDICT_RUNNING) {
        pthread_detach(v->thread);
        return 0;
    }
    if (v->has_thread) pthread_join(v->thread, NULL);
    jf_judgement_free(v->judgement);
    pthread_mutex_destroy(&v->lock);
    free(v);
    return 1;
}

static void *judge(void *user) {
    verdict *v = user;
    jf_judgement *made = NULL;
    jf_judge_options options = {.size = sizeof(jf_judge_options), /* as jointflow judge does by default */
                                .cascade = v->cascade};
    jf_status status = jf_judge(&made, v->m, &options);
    pthread_mutex_lock(&v->lock);
    v->judgement = made;
    v->state = status == JF_OK ? VERDICT_DONE : VERDICT_FAILED;
    if (status != JF_OK) snprintf(v->why, sizeof v->why, "%s", jf_context_error(v->ctx));
    pthread_mutex_unlock(&v->lock);
    return NULL;
}

void verdict_begin(verdict *v) {
    pthread_mutex_lock(&v->lock);
    if (v->state == VERDICT_NONE) {
        v->state = VERDICT_RUNNING;
        v->has_thread = pthread_create(&v->thread, NULL, judge, v) == 0;
        if (!v->has_thread) {
            v->state = VERDICT_FAILED;
            snprintf(v->why, sizeof v->why, "no thread for it could be started");
        }
    }
    pthread_mutex_unlock(&v->lock);
}

verdict_state verdict_get(verdict *v, const char **table, const char **json, const char **why) {
    verdict_state state = state_of(v); /* once it has ended nothing changes any more */
    *table = state == VERDICT_DONE ? jf_judgement_text(v->judgement) : "";
    *json = state == VERDICT_DONE ? jf_judgement_json(v->judgement) : "null";
    *why = state == VERDICT_FAILED ? v->why : "";
    return state;
}
