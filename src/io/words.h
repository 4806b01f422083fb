/* The different texts of a column that holds text: names of classes. */
#ifndef JF_IO_WORDS_H
#define JF_IO_WORDS_H

#include "base/memory.h"
#include "types/limits.h"

typedef struct word_list {
    char *word[MAX_CLASSES]; /* (count); in the order of their bytes after words_sort() */
    int count;
    size_t rows;  /* that hold one of them */
    int unusable; /* there are more, or one cannot be shown */
} word_list;

/* Takes the word over, and gives its number so far. */
void words_add(word_list *l, char *word, double *code);
/* code (count): the number of each word in the new order. */
void words_sort(word_list *l, double code[MAX_CLASSES]);
void words_clear(word_list *l);

#endif
