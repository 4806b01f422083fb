/* What a recipe wants of the images that a source has: some classes, a share held out, a limit.
 *
 * Invariant: which rows those are follows from their number and the keys alone, so that runs can be compared;
 * both parts stay in the source's order. */
#include "base/memory.h"
#include "base/number.h"
#include "base/permutation.h"
#include "data/images/image_set.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { SELECT_SEED = 20220112, CYCLE_HELD = 0, CYCLE_LIMIT = 1 };

typedef enum part { DROPPED, TRAINED, VALIDATION, PARTS } part;

/* ---- classes ---- */

/* The next character of a name that counts: capitals, spaces and signs between words do not. */
static int next_letter(const char **at) {
    while (**at && strchr("-_ /", **at)) (*at)++;
    return **at ? tolower((unsigned char)*(*at)++) : 0;
}

static int same_name(const char *a, const char *b) {
    int letter;
    while ((letter = next_letter(&a)) == next_letter(&b))
        if (!letter) return 1;
    return 0;
}

/* Longer names that are in use for classes of Fashion-MNIST. */
static const char *const aliases[][2] = {{"ankle-boot", "boot"}, {"t-shirt/top", "tshirt"}};
enum { ALIASES = sizeof aliases / sizeof *aliases };

static int find_by_name(const image_set *s, const char *word) {
    for (int k = 0; k < s->classes; k++)
        if (same_name(word, s->class_name[k])) return k;
    return -1;
}

/* By name, else by another name of it, else by number; -1: none. */
static int find_class(const image_set *s, const char *word) {
    int k = find_by_name(s, word);
    for (int i = 0; i < ALIASES && k < 0; i++)
        if (same_name(word, aliases[i][0])) k = find_by_name(s, aliases[i][1]);
    long long number;
    if (k < 0 && number_parse_int(word, &number) && number >= 0 && number < s->classes) k = (int)number;
    return k;
}

static jf_status fail_class(const recipe *r, const image_set *s, const char *word) {
    text names = {0};
    for (int k = 0; k < s->classes; k++) text_add(&names, "%s%s", k ? ", " : "", s->class_name[k]);
    jf_status status = text_check(recipe_context(r), &names);
    if (status == JF_OK)
        status = recipe_fail(r, "data.classes",
                             "found \"%s\", expected names out of %s, their numbers from 0, or all", word,
                             names.chars);
    text_free(&names);
    return status;
}

jf_status image_chosen_classes(const recipe *r, const image_set *s, int chosen[MAX_CLASSES], int *count) {
    char word[MAX_CLASS_NAME + 8];
    int known = 0;
    *count = 0;
    if (strcmp(recipe_get(r, "data.classes"), "all") == 0) return JF_OK;
    if (s->classes == 0)
        return recipe_fail(r, "data.classes", "found \"%.60s\", expected all: these images have no labels",
                           recipe_get(r, "data.classes"));
    for (int i = 0; recipe_words(r, "data.classes", i, word, sizeof word); i++) {
        int k = find_class(s, word);
        if (k < 0 && (!s->may_lack || i == MAX_CLASSES)) return fail_class(r, s, word);
        known += k >= 0;
        for (int j = 0; k >= 0 && j < i; j++)
            if (chosen[j] == k)
                return recipe_fail(r, "data.classes", "found \"%s\" twice, expected each class once",
                                   s->class_name[k]);
        chosen[(*count)++] = k; /* at most s->classes, since none comes twice, but for those that it lacks */
    }
    if (known == 0) recipe_words(r, "data.classes", 0, word, sizeof word);
    if (known == 0) return fail_class(r, s, word);
    return JF_OK;
}

/* All that occur among the rows to train on. */
static int occurring_classes(const image_set *s, int *chosen) {
    int occurs[MAX_CLASSES] = {0}, count = 0;
    for (long row = 0; row < s->rows; row++) occurs[s->labels[row]] = 1;
    for (int k = 0; k < s->classes; k++)
        if (occurs[k]) chosen[count++] = k;
    return count;
}

/* Numbers the chosen classes 0, 1, ... and drops the rows of the others. */
static void renumber(image_set *s, const int *chosen, int count, uint8_t *parts) {
    int number[MAX_CLASSES];
    char names[MAX_CLASSES][MAX_CLASS_NAME];
    for (int k = 0; k < MAX_CLASSES; k++) number[k] = -1;
    for (int i = 0; i < count; i++) {
        memset(names[i], 0, MAX_CLASS_NAME);
        if (chosen[i] < 0) continue;
        number[chosen[i]] = i;
        memcpy(names[i], s->class_name[chosen[i]], MAX_CLASS_NAME);
    }
    for (long row = 0; row < s->rows + s->validation_rows; row++) {
        int label = number[s->labels[row]];
        if (label < 0) parts[row] = DROPPED;
        s->labels[row] = (uint8_t)(label < 0 ? 0 : label);
    }
    memcpy(s->class_name, names, (size_t)count * sizeof *names);
    s->classes = count;
}

static jf_status choose_classes(image_set *s, const recipe *r, uint8_t *parts) {
    int chosen[MAX_CLASSES], count;
    JF_TRY(image_chosen_classes(r, s, chosen, &count));
    if (!s->labels) return JF_OK;
    if (count == 0) count = occurring_classes(s, chosen);
    renumber(s, chosen, count, parts);
    return JF_OK;
}

/* ---- parts ---- */

static void count_parts(const image_set *s, const uint8_t *parts, long counts[PARTS]) {
    memset(counts, 0, PARTS * sizeof *counts);
    for (long row = 0; row < s->rows + s->validation_rows; row++) counts[parts[row]]++;
}

/* Moves `many` of the rows to train on elsewhere; a shuffled place decides which. */
static void move_some(const image_set *s, uint8_t *parts, part to, long many, uint64_t cycle) {
    long counts[PARTS];
    count_parts(s, parts, counts);
    if (many <= 0 || counts[TRAINED] == 0) return;
    permutation places =
        permutation_create((rng_key){SELECT_SEED, RNG_SHUFFLE, 0}, cycle, (uint64_t)counts[TRAINED]);
    uint64_t index = 0;
    for (long row = 0; row < s->rows + s->validation_rows; row++)
        if (parts[row] == TRAINED && permutation_at(&places, index++) < (uint64_t)many)
            parts[row] = (uint8_t)to;
}

static void divide(const image_set *s, const recipe *r, uint8_t *parts, long counts[PARTS]) {
    long limit = recipe_int(r, "data.limit");
    count_parts(s, parts, counts);
    if (s->validation_rows == 0)
        move_some(s, parts, VALIDATION, (long)(recipe_real(r, "data.validation") * (double)counts[TRAINED]),
                  CYCLE_HELD);
    count_parts(s, parts, counts);
    if (limit > 0) move_some(s, parts, DROPPED, counts[TRAINED] - limit, CYCLE_LIMIT);
    count_parts(s, parts, counts);
}

/* ---- keeping ---- */

/* Replaces *array, `size` bytes per row, by the rows to train on and after them those held out. */
static jf_status gather(jf_context *ctx, const image_set *s, const uint8_t *parts, const long counts[PARTS],
                        size_t size, void *array) {
    char *old, *kept, *to[PARTS];
    memcpy(&old, array, sizeof old);
    if (!old) return JF_OK;
    JF_TRY(mem_alloc(ctx, &kept, (size_t)(counts[TRAINED] + counts[VALIDATION]), size));
    to[TRAINED] = kept;
    to[VALIDATION] = kept + (size_t)counts[TRAINED] * size;
    for (long row = 0; row < s->rows + s->validation_rows; row++) {
        if (parts[row] == DROPPED) continue;
        memcpy(to[parts[row]], old + (size_t)row * size, size);
        to[parts[row]] += size;
    }
    memcpy(array, &kept, sizeof kept);
    free(old);
    return JF_OK;
}

static jf_status keep(jf_context *ctx, image_set *s, const uint8_t *parts, const long counts[PARTS]) {
    if (counts[TRAINED] == s->rows && counts[VALIDATION] == s->validation_rows) return JF_OK;
    size_t dim = image_set_dim(s);
    JF_TRY(gather(ctx, s, parts, counts, dim, &s->bytes));
    JF_TRY(gather(ctx, s, parts, counts, dim * sizeof *s->reals, &s->reals));
    JF_TRY(gather(ctx, s, parts, counts, 1, &s->labels));
    s->rows = counts[TRAINED];
    s->validation_rows = counts[VALIDATION];
    return JF_OK;
}

jf_status image_select(jf_context *ctx, image_set *s, const recipe *r) {
    uint8_t *parts;
    long counts[PARTS];
    JF_TRY(MEM_NEW(ctx, &parts, (size_t)(s->rows + s->validation_rows)));
    memset(parts, TRAINED, (size_t)s->rows);
    memset(parts + s->rows, VALIDATION, (size_t)s->validation_rows);
    jf_status status;
    JF_TRY_DONE(choose_classes(s, r, parts));
    divide(s, r, parts, counts);
    if (counts[TRAINED] == 0) {
        status =
            recipe_fail(r, "data.images", "no image of \"%s\" is left to train on, expected at least one",
                        recipe_get(r, "data.images"));
        goto done;
    }
    JF_TRY_DONE(keep(ctx, s, parts, counts));
done:
    free(parts);
    return status;
}
