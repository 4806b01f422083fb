/* Colours that stay apart for the colour-blind and in grey print. */
#include "draw/draw.h"
#include <math.h>

const colour colour_ink = {0.13, 0.13, 0.13, 1}, colour_quiet = {0.45, 0.45, 0.45, 1},
             colour_warning = {0.835, 0.369, 0, 1};

#define CLASS_COLOURS 8

static colour from_hex(unsigned hex) {
    return (colour){((hex >> 16) & 255) / 255.0, ((hex >> 8) & 255) / 255.0, (hex & 255) / 255.0, 1};
}

colour colour_class(int index) {
    /* Okabe and Ito (2008), the ones that show best on white first */
    static const unsigned table[CLASS_COLOURS] = {0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7,
                                                  0xE69F00, 0x56B4E9, 0x333333, 0xF0E442};
    if (index < 0) return (colour){0.6, 0.6, 0.6, 1};
    colour c = from_hex(table[index % CLASS_COLOURS]);
    /* a second round of the table is darker, so that ten classes differ */
    double shade = pow(0.62, (index / CLASS_COLOURS) % 4);
    return (colour){c.red * shade, c.green * shade, c.blue * shade, 1};
}

colour colour_continuous(double share) {
    static const unsigned viridis[] = {0x440154, 0x481568, 0x482677, 0x453781, 0x3F4788, 0x39558C, 0x32648E,
                                       0x2D718E, 0x287D8E, 0x238A8D, 0x1F968B, 0x20A386, 0x29AF7F, 0x3CBC75,
                                       0x56C667, 0x74D055, 0x94D840, 0xB8DE29, 0xDCE318, 0xFDE725};
    const int last = (int)(sizeof viridis / sizeof *viridis) - 1;
    double place = share > 0 ? (share < 1 ? share * last : last) : 0; /* NAN: 0 */
    int below = (int)place < last ? (int)place : last - 1;
    double t = place - below;
    colour a = from_hex(viridis[below]), b = from_hex(viridis[below + 1]);
    return (colour){a.red + t * (b.red - a.red), a.green + t * (b.green - a.green),
                    a.blue + t * (b.blue - a.blue), 1};
}

colour colour_fade(colour ink, double alpha) {
    ink.alpha = alpha;
    return ink;
}
