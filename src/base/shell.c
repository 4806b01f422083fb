#include "base/shell.h"
#include <string.h>

void shell_add_word(text *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%";
    if (*word && !word[strspn(word, plain)]) {
        text_add(out, "%s", word);
        return;
    }
    text_add(out, "'");
    for (; *word; word++) text_add_chars(out, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    text_add(out, "'");
}

void shell_add_path(text *out, const char *path) {
    if (*path == '-') text_add(out, "./");
    shell_add_word(out, path);
}
