#include "io/words.h"
#include "base/shown.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int find_word(const word_list *l, const char *word) {
    for (int k = 0; k < l->count; k++)
        if (strcmp(l->word[k], word) == 0) return k;
    return -1;
}

void words_add(word_list *l, char *word, double *code) {
    int k = find_word(l, word), is_new = k < 0;
    *code = NAN;
    if (is_new && (l->count == MAX_CLASSES || word[shown_prefix(word, strlen(word), "")])) l->unusable = 1;
    if (is_new && !l->unusable) l->word[k = l->count++] = word;
    if (!is_new || l->unusable) free(word);
    l->rows++;
    if (!l->unusable) *code = k;
}

void words_sort(word_list *l, double code[MAX_CLASSES]) {
    int place[MAX_CLASSES];
    for (int k = 0; k < l->count; k++) {
        char *word = l->word[k];
        int at = k;
        for (; at > 0 && strcmp(l->word[at - 1], word) > 0; at--) {
            l->word[at] = l->word[at - 1];
            place[at] = place[at - 1];
        }
        l->word[at] = word;
        place[at] = k;
    }
    for (int k = 0; k < l->count; k++) code[place[k]] = k;
}

void words_clear(word_list *l) {
    for (int k = 0; k < l->count; k++) free(l->word[k]);
    *l = (word_list){0};
}
