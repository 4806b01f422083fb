/* Sizes, in units of 1/96 inch, and greys that layout and decoration share. */
#ifndef JF_DRAW_STYLE_H
#define JF_DRAW_STYLE_H

#define MARGIN            12 /* around everything in a panel */
#define FIGURE_TITLE_SIZE 16
#define TITLE_SIZE        13
#define TITLE_ROOM        22
#define AXIS_SIZE         12
#define LABEL_ROOM        20
#define TICK_SIZE         11
#define TICK_ROOM         20
#define TICK_LENGTH       4
#define TICK_LEAST        26 /* width kept for the labels of y ticks */
#define FACTOR_ROOM       14
#define BAR_GAP           12
#define BAR_WIDTH         12

#define FULL_TURN 6.283185307179586

#define GRID_INK  ((colour){0.91, 0.91, 0.91, 1})
#define FRAME_INK ((colour){0.35, 0.35, 0.35, 1})

#endif
