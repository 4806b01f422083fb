/* The list of embedding networks. A new one is a file here and a line in EMBED_LIST. */
#include "net/embed.h"

#define EMBED_LIST(X)                                                                                        \
    X(dense, "dense layers")                                                                                 \
    X(conv1d, "convolutions along a series, then dense layers")                                              \
    X(conv2d, "convolutions over an image, then dense layers")

#define X(name, summary) extern const embed_kind embed_##name;
EMBED_LIST(X)
#undef X

#define X(name, summary) &embed_##name,
const embed_kind *const embed_kinds[] = {EMBED_LIST(X) NULL};
#undef X

static const recipe_key keys[] = {
#define X(name, summary) " " #name
    {"model", "embed", KEY_CHOICE, "none", 0, 0, "none" EMBED_LIST(X),
#undef X
#define X(name, summary) " " #name ": " summary "."
     "A network that is trained along and makes a few numbers of y, which all couplings read in its place; "
     "for model.condition = fixed. none: they read y." EMBED_LIST(X)},
#undef X
    {0},
};

jf_status embed_declare(recipe *r) {
    JF_TRY(recipe_declare(r, keys, NULL));
    for (int i = 0; embed_kinds[i]; i++)
        JF_TRY(recipe_declare_choice(r, "model.embed", embed_kinds[i]->name, embed_kinds[i]->keys));
    return JF_OK;
}

const embed_kind *embed_kind_of(const recipe *r) {
    for (int i = 0; embed_kinds[i]; i++)
        if (recipe_is(r, "model.embed", embed_kinds[i]->name)) return embed_kinds[i];
    return NULL;
}

int embed_size_of(const recipe *r, int dim_y) {
    return embed_kind_of(r) ? recipe_int(r, "model.embed_size") : dim_y;
}

jf_status embed_read_axes(embed *e, const recipe *r, int least, int most, const char *expected) {
    const char *given = recipe_get(r, "model.embed_shape");
    e->axes = (y_axes){0};
    if (!given[0]) return JF_OK;
    if (!y_axes_parse(given, &e->axes) || e->axes.rank < least || e->axes.rank > most)
        return recipe_fail(r, "model.embed_shape", "found \"%s\", expected %s", given, expected);
    if (y_axes_numbers(&e->axes) != e->dim_y)
        return recipe_fail(r, "model.embed_shape", "found %s, which is %.0f numbers, expected %d, those of y",
                           given, y_axes_numbers(&e->axes), e->dim_y);
    return JF_OK;
}
