/* Sizes of the images that x and y are, for the folders that pass them on. */
#ifndef JF_TYPES_IMAGE_SIZE_H
#define JF_TYPES_IMAGE_SIZE_H

/* x [h][w][x_channels] and y [h][w][y_channels]; h = 0: x and y are plain vectors. */
typedef struct image_size {
    int h, w, x_channels, y_channels;
} image_size;

#endif
