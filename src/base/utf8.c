#include "base/utf8.h"

size_t utf8_length(const char *chars, size_t available) {
    const unsigned char *c = (const unsigned char *)chars;
    if (available == 0) return 0;
    if (c[0] < 0x80) return 1;
    size_t length = c[0] >= 0xC2 && c[0] <= 0xDF   ? 2
                    : c[0] >= 0xE0 && c[0] <= 0xEF ? 3
                    : c[0] >= 0xF0 && c[0] <= 0xF4 ? 4
                                                   : 0;
    if (length == 0 || length > available) return 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xC0) != 0x80) return 0;
    int too_long = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90);
    int surrogate = c[0] == 0xED && c[1] > 0x9F;
    int too_large = c[0] == 0xF4 && c[1] > 0x8F;
    return too_long || surrogate || too_large ? 0 : length;
}

size_t utf8_prefix(const char *chars, size_t size) {
    size_t good = 0;
    for (size_t length = 1; length > 0 && good < size; good += length)
        length = utf8_length(chars + good, size - good);
    return good;
}
