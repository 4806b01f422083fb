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

size_t utf8_from_windows(char *out, const char *chars, size_t size) {
    static const unsigned from_128[32] = {0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021,
                                          0x2C6,  0x2030, 0x160,  0x2039, 0x152,  0x8D,   0x17D,  0x8F,
                                          0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                          0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};
    char *to = out;
    for (size_t i = 0; i < size; i++) {
        unsigned c = (unsigned char)chars[i];
        if (c >= 128 && c < 160) c = from_128[c - 128];
        if (c < 0x80) {
            *to++ = (char)c;
        } else if (c < 0x800) {
            *to++ = (char)(0xC0 | c >> 6);
            *to++ = (char)(0x80 | (c & 63));
        } else {
            *to++ = (char)(0xE0 | c >> 12);
            *to++ = (char)(0x80 | (c >> 6 & 63));
            *to++ = (char)(0x80 | (c & 63));
        }
    }
    return (size_t)(to - out);
}
