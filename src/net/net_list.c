/* The list of coupling networks. A new one is a file here and a line in NET_LIST. */
#include "base/memory.h"
#include "base/number.h"
#include "net/net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NET_LIST(X)                                                                                          \
    X(dense)                                                                                                 \
    X(resnext)                                                                                               \
    X(residual)

#define X(name) extern const net_kind net_##name;
NET_LIST(X)
#undef X

const net_kind *const net_kinds[] = {
#define X(name) &net_##name,
    NET_LIST(X)
#undef X
        NULL};

/* " dense resnext" */
#define X(name) " " #name
static const char names_after_spaces[] = NET_LIST(X);
#undef X

static const recipe_key keys[] = {
    {"model", "net", KEY_CHOICE, "dense", 0, 0, &names_after_spaces[1],
     "Kind of the networks A and B inside a coupling."},
    {0},
};

jf_status net_declare(recipe *r) {
    JF_TRY(recipe_declare(r, keys, NULL));
    for (int i = 0; net_kinds[i]; i++)
        JF_TRY(recipe_declare_choice(r, "model.net", net_kinds[i]->name, net_kinds[i]->keys));
    return JF_OK;
}

static const net_kind *kind_of(const recipe *r) {
    for (int i = 0; net_kinds[i]; i++)
        if (recipe_is(r, "model.net", net_kinds[i]->name)) return net_kinds[i];
    return net_kinds[0];
}

static int ends_with_gain(const char *name) {
    size_t length = strlen(name), end = strlen("gain");
    return length >= end && strcmp(name + length - end, "gain") == 0;
}

const char *net_highest_gain(const recipe *r, char *out) {
    double most = 0;
    out[0] = 0;
    for (const recipe_key *k = kind_of(r)->keys; k->name; k++) {
        char dotted[NET_MAX_KEY];
        double usual = 1;
        if (!ends_with_gain(k->name)) continue;
        snprintf(dotted, sizeof dotted, "%s.%s", k->section, k->name);
        number_parse(k->fallback, &usual);
        if (out[0] && recipe_real(r, dotted) / usual <= most) continue;
        most = recipe_real(r, dotted) / usual;
        memcpy(out, dotted, sizeof dotted);
    }
    return out;
}

jf_status net_create(jf_context *ctx, net **out, const recipe *r, param_list *params, const char *prefix,
                     const net *place) {
    *out = NULL;
    const net_kind *kind = kind_of(r);
    net *t;
    JF_TRY(MEM_NEW(ctx, &t, 1));
    *t = *place;
    t->kind = kind;
    t->ctx = ctx;
    t->own = NULL;
    jf_status status = kind->create(t, r, params, prefix);
    if (status != JF_OK) {
        net_free(t);
        return status;
    }
    *out = t;
    return JF_OK;
}

void net_free(net *t) {
    if (!t) return;
    t->kind->free(t);
    free(t);
}
